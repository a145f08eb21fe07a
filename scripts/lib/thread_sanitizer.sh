# shellcheck shell=bash disable=SC2016
# CAF for the thread sanitizer. Debian's library is not built for it: the locks it takes and the
# messages it hands over are invisible, and each delivery looks like a race. So the same version is
# built from Debian's source, once, and the test programs load it instead. Sourced after
# packages.sh and debian.sh.

# fetch_caf_source DIRECTORY: the tarball of the CAF that is installed.
fetch_caf_source() {
  local package codename
  package=$(dpkg-query --show --showformat '${source:Package}=${source:Version}' libcaf-dev)
  codename=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
  # Lists of our own, since the machine's apt need not know of any sources.
  mkdir -p "$1/apt/lists/partial" "$1/apt/cache/archives/partial" "$1/apt/sources.d"
  debian_sources "$codename" | sed 's/^deb /deb-src /' >"$1/apt/sources.list"
  [ -s "$1/apt/sources.list" ] || die "found no Debian archive among this machine's apt sources"
  local apt=(apt-get --quiet --quiet -o Acquire::Retries=3
    -o Dir::Etc::SourceList="$1/apt/sources.list" -o Dir::Etc::SourceParts="$1/apt/sources.d"
    -o Dir::State::Lists="$1/apt/lists" -o Dir::Cache="$1/apt/cache"
    -o APT::Sandbox::User="$(id -un)")
  "${apt[@]}" update >&2 || die "the source lists could not be read"
  (cd "$1" && "${apt[@]}" source --download-only --tar-only "$package" >&2) ||
    die "the source of $package could not be fetched"
}

# instrumented_caf DIRECTORY: builds it there, if it is not there yet, and prints where it lies.
instrumented_caf() {
  local library=$1/build/lib
  if [ ! -e "$library/libcaf_core.so" ]; then
    need_packages dpkg-dev
    rm -rf "$1"
    mkdir -p "$1/source"
    fetch_caf_source "$1"
    tar --extract --strip-components=1 --directory="$1/source" --file="$(echo "$1"/*.orig.tar.*)"
    # Only the core, and of that only what is shared.
    cmake -S "$1/source" -B "$1/build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo \
      -DCMAKE_CXX_FLAGS='-fsanitize=thread -O1 -g1' -DCAF_NO_SUMMARY=ON \
      -DCAF_NO_{IO,TOOLS,EXAMPLES,UNIT_TESTS,OPENSSL,OPENCL,PYTHON}=ON >&2
    cmake --build "$1/build" --target libcaf_core_shared >&2
  fi
  echo "$library"
}
