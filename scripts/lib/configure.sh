# shellcheck shell=bash
# How the scripts beside this directory configure the tree. Sourced by them.

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
