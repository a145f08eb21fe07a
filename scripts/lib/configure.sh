# shellcheck shell=bash
# Configures the tree and runs its tests, for the scripts, which source this file.

# configure PRESET [CMAKE_ARGUMENT]...: configures the tree in the current directory. A build
# directory that was configured with another generator, for example by a plain `cmake -B build`, is
# configured afresh, since CMake refuses to change the generator.
configure() {
  local directory=build fresh=()
  [ "$1" = release ] || directory=build-$1
  if [ -e "$directory/CMakeCache.txt" ] &&
    ! grep -q '^CMAKE_GENERATOR:INTERNAL=Ninja$' "$directory/CMakeCache.txt"; then
    fresh=(--fresh)
  fi
  cmake --preset "$1" "${fresh[@]}" "${@:2}"
}

# run_ctest PRESET [CTEST ARGUMENTS]...: in the current directory; `ctest_prefix` may hold a command
# that runs ctest. Prints at the end which tests failed or were not judged, and why.
ctest_prefix=()
run_ctest() {
  local status=0 directory server
  unset PYTHONDONTWRITEBYTECODE  # The tests keep their bytecode in the build directory.
  directory=$(mktemp -d)
  # Debian's interpreter, as in tests/lib/python.cmake. It ends when the descriptor is closed.
  exec {server}> >(PATH=/usr/bin:$PATH exec "${ctest_prefix[@]}" python3 -W ignore::ResourceWarning \
    tests/lib/python_server.py "$directory/socket")
  # Most tests wait most of the time, so five run at once for every two processors.
  # The output of a passing test is kept too: it may say that something was not judged.
  CELLD_PYTHON_SERVER=$directory/socket "${ctest_prefix[@]}" ctest --preset "$1" \
    --no-tests=error --no-label-summary --parallel "$((5 * $(nproc) / 2))" \
    --output-junit "$directory/results" \
    --test-output-size-passed 65536 --test-output-size-failed 1048576 "${@:2}" {server}>&- || status=$?
  exec {server}>&-
  scripts/lib/summarize_tests "$directory/results"
  rm -rf "$directory"
  return "$status"
}
