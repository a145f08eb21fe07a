# shellcheck shell=bash
# How the scripts beside this directory configure the tree and run its tests. Sourced by them.

# configure PRESET [CMAKE'S ARGUMENTS]...: in the current directory. What another generator has left
# in the preset's build directory, as a plain `cmake -B build` does, is configured anew: CMake would
# refuse it.
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
  local status=0 results
  results=$(mktemp)
  # The output of a passing test is kept too: it may say that something was not judged.
  "${ctest_prefix[@]}" ctest --preset "$1" --no-tests=error --parallel "$(nproc)" --output-junit "$results" \
    --test-output-size-passed 65536 --test-output-size-failed 1048576 "${@:2}" || status=$?
  scripts/lib/summarize_tests "$results"
  rm -f "$results"
  return "$status"
}
