# shellcheck shell=bash
# Configures the tree and runs its tests, for the scripts, which source this file.

# is_configured DIRECTORY: whether it was configured for Ninja and for the tree in the current
# directory. It was not if a plain `cmake -B build` made it, or if the tree was copied or moved.
is_configured() {
  local tree cache=$1/CMakeCache.txt
  [ -e "$cache" ] || return
  tree=$(sed -n 's/^CMAKE_HOME_DIRECTORY:INTERNAL=//p' "$cache")
  grep -qx 'CMAKE_GENERATOR:INTERNAL=Ninja' "$cache" &&
    [ "$(readlink -f "$tree/CMakeLists.txt")" = "$(readlink -f CMakeLists.txt)" ]
}

# configure PRESET [CMAKE_ARGUMENT]...: configures the tree in the current directory. CMake refuses
# to change the generator of a build directory or its tree, so one that has another is configured
# afresh.
configure() {
  local directory=build fresh=()
  [ "$1" = release ] || directory=build-$1
  is_configured "$directory" || fresh=(--fresh)
  cmake --preset "$1" "${fresh[@]}" "${@:2}"
}

# run_ctest PRESET [CTEST ARGUMENTS]...: in the current directory; `ctest_prefix` may hold a command
# that runs ctest. Prints at the end how each test ended, which failed, and what was not judged.
ctest_prefix=()
run_ctest() {
  local status=0 results
  unset PYTHONDONTWRITEBYTECODE  # The tests keep their bytecode in the build directory.
  results=$(mktemp)
  # Most tests wait most of the time, so three run at once for every processor.
  # The output of a passing program is kept too: it has the result of each of its tests.
  "${ctest_prefix[@]}" ctest --preset "$1" \
    --no-tests=error --parallel "$((3 * $(nproc)))" \
    --output-junit "$results" \
    --test-output-size-passed 1048576 --test-output-size-failed 1048576 \
    --test-output-truncation middle "${@:2}" || status=$?
  scripts/lib/summarize_tests "$results"
  rm -f "$results"
  return "$status"
}
