# shellcheck shell=bash disable=SC2016
# CAF for the thread sanitizer. Debian's library is not instrumented: the sanitizer does not see the
# locks in it, so that each message delivery looks like a race. This builds the same version from
# Debian's source, once, and the test programs load that instead. Sourced after packages.sh and
# debian.sh.

# fetch_caf_source DIRECTORY: downloads the source tarball of the installed version of CAF.
fetch_caf_source() {
  local package codename
  package=$(dpkg-query --show --showformat '${source:Package}=${source:Version}' libcaf-dev)
  codename=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
  # Separate lists, since the machine's apt may have no source packages configured.
  mkdir -p "$1/apt/lists/partial" "$1/apt/cache/archives/partial" "$1/apt/sources.d"
  debian_sources "$codename" | sed 's/^deb /deb-src /' >"$1/apt/sources.list"
  [ -s "$1/apt/sources.list" ] || die "this machine's apt sources name no Debian archive"
  local apt=(apt-get --quiet --quiet -o Acquire::Retries=3
    -o Dir::Etc::SourceList="$1/apt/sources.list" -o Dir::Etc::SourceParts="$1/apt/sources.d"
    -o Dir::State::Lists="$1/apt/lists" -o Dir::Cache="$1/apt/cache"
    -o APT::Sandbox::User="$(id -un)")
  "${apt[@]}" update >&2 || die "apt-get update failed for the source packages"
  (cd "$1" && "${apt[@]}" source --download-only --tar-only "$package" >&2) ||
    die "the source of $package could not be downloaded"
}

# instrumented_caf DIRECTORY: builds the library in DIRECTORY unless it exists, and prints the path
# of the directory that contains it.
instrumented_caf() {
  local library=$1/build/lib
  if [ ! -e "$library/libcaf_core.so" ]; then
    need_packages dpkg-dev
    rm -rf "$1"
    mkdir -p "$1/source"
    fetch_caf_source "$1"
    tar --extract --strip-components=1 --directory="$1/source" --file="$(echo "$1"/*.orig.tar.*)" ||
      die "the source of CAF could not be unpacked"
    # Only the shared library of the core module.
    cmake -S "$1/source" -B "$1/build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo \
      -DCMAKE_CXX_FLAGS='-fsanitize=thread -O1 -g1' -DCAF_NO_SUMMARY=ON \
      -DCAF_NO_{IO,TOOLS,EXAMPLES,UNIT_TESTS,OPENSSL,OPENCL,PYTHON}=ON >&2 ||
      die "CAF could not be configured"
    cmake --build "$1/build" --target libcaf_core_shared >&2 || die "CAF could not be built"
  fi
  echo "$library"
}
