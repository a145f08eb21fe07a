# shellcheck shell=bash
# Configures the tree for the scripts, which source this file.

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
