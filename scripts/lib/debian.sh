# shellcheck shell=bash disable=SC2016,SC2154
# Chroots of other Debian releases, created once from this machine's apt sources, outside the
# checkout, and reused. Sourced after packages.sh.

# debian_codename RELEASE
debian_codename() {
  case $1 in
    12) echo bookworm ;;
    13) echo trixie ;;
    *) die "unknown Debian release '$1'; expected 12 or 13" ;;
  esac
}

# debian_sources CODENAME: the apt source lines of this machine's Debian archives, for another
# release. apt itself parses the machine's sources, since they may be in either of its two formats.
debian_sources() {
  local host
  host=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
  apt-get indextargets --format '$(SITE) $(CODENAME) $(COMPONENT)' \
    'Created-By: Packages' 'Origin: Debian' | sort -u |
    awk -v host="$host" -v suite="$1" '
      $3 == "main" && ($2 == host || $2 == host "-updates" || $2 == host "-security") {
        print "deb " $1 " " suite substr($2, length(host) + 1) " main"
      }'
}

# make_chroot CODENAME DIRECTORY PACKAGE...: DIRECTORY appears only once it is complete.
make_chroot() {
  local codename=$1 directory=$2
  shift 2
  need_packages "${chroot_packages[@]}"
  local sources acquire
  sources=$(debian_sources "$codename")
  if [ -z "$sources" ]; then
    # Images often come without apt's package lists.
    as_root apt-get --quiet --quiet update >&2 || die "apt-get update failed"
    sources=$(debian_sources "$codename")
  fi
  [ -n "$sources" ] || die "this machine's apt sources name no Debian archive"

  # How this machine reaches its archives: proxies, certificates, tolerance of a wrong clock.
  mapfile -t acquire < <(apt-config dump | grep -E '^Acquire::(https?|Retries|Check-)')
  echo "creating a Debian $codename chroot in $directory" >&2
  as_root rm -rf --one-file-system "$directory" "$directory.new"
  mkdir -p "$(dirname "$directory")"
  as_root mmdebstrap --quiet --mode=root --variant=apt \
    --keyring=/usr/share/keyrings/debian-archive-keyring.gpg \
    "${acquire[@]/#/--aptopt=}" \
    --customize-hook='rm -f "$1/etc/apt/apt.conf.d/99mmdebstrap"' \
    --include="$(IFS=,; echo "$*")" \
    "$codename" "$directory.new" - <<<"$sources" ||
    die "mmdebstrap failed; if it cannot verify a signature, update debian-archive-keyring"
  echo "$*" | as_root tee "$directory.new/etc/celld-packages" >/dev/null
  as_root mv "$directory.new" "$directory"
}

# in_chroot DIRECTORY COMMAND...: runs the command in namespaces of its own, so that no mount or
# process outlives it.
in_chroot() {
  as_root unshare --mount --pid --fork --kill-child bash -euc '
    directory=$1
    shift
    mount -t proc proc "$directory/proc"
    mount --rbind /dev "$directory/dev"
    mount -t tmpfs tmpfs "$directory/tmp"
    exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \
      chroot "$directory" "$@"' in_chroot "$@"
}

# copy_tree DIRECTORY: copies the files of the working tree that git tracks or would add. Keeps the
# build directories in DIRECTORY.
copy_tree() {
  as_root mkdir -p "$1"
  as_root find "$1" -mindepth 1 -maxdepth 1 ! -name 'build*' -exec rm -rf {} +
  git ls-files -z --cached --others --exclude-standard --deduplicate |
    while IFS= read -r -d '' file; do
      if [ -e "$file" ]; then printf '%s\0' "$file"; fi
    done |
    tar --create --null --files-from=- --owner=0 --group=0 |
    as_root tar --extract --directory "$1"
}

# chroot_of RELEASE: the path of the chroot for builds and tests.
chroot_of() {
  echo "${XDG_CACHE_HOME:-$HOME/.cache}/celld/debian-$1"
}

# in_debian RELEASE COMMAND...: runs the command in the chroot of the release, with the tree in
# /celld and every package that a build, a test or scripts/package needs.
in_debian() {
  local release=$1 codename directory packages
  shift
  codename=$(debian_codename "$release") || exit
  directory=$(chroot_of "$release")
  # A chroot runs no services, so the packages that enable some are installed like the others.
  packages=("${build_packages[@]}" "${test_packages[@]}" "${fuzz_packages[@]}"
    "${package_packages[@]}" "${unpacked_packages[@]%=*}")
  can_be_root || die "a chroot needs root or sudo"
  [ "$(cat "$directory/etc/celld-packages" 2>/dev/null)" = "${packages[*]}" ] ||
    make_chroot "$codename" "$directory" "${packages[@]}"
  copy_tree "$directory/celld"
  # npm in the chroot uses this machine's proxies, so it needs the same certificate authorities.
  as_root cp /etc/ssl/certs/ca-certificates.crt "$directory/etc/celld-trusted.crt" ||
    as_root touch "$directory/etc/celld-trusted.crt"
  in_chroot "$directory" env NODE_EXTRA_CA_CERTS=/etc/celld-trusted.crt "$@"
}

# test_on_debian RELEASE: runs scripts/test in the chroot of the release.
test_on_debian() {
  in_debian "$1" /celld/scripts/test
}

# boot DIRECTORY COMMAND...: boots the Debian in DIRECTORY with systemd, in namespaces of its own,
# and runs the command as a unit beside those that are enabled. Prints the command's output and
# fails if the command fails.
boot() {
  local directory=$1
  shift
  as_root tee "$directory/etc/systemd/system/only.service" >/dev/null <<END
[Unit]
After=basic.target
SuccessAction=poweroff-force
FailureAction=poweroff-force
[Service]
Type=oneshot
ExecStart=/bin/sh -c '"\$\$@" >/output 2>&1; echo \$\$? >/exit-code' sh $*
TimeoutStartSec=10min
[Install]
WantedBy=multi-user.target
END
  in_chroot "$directory" systemctl --quiet enable only.service
  as_root rm -f "$directory/exit-code" "$directory/output"
  # At poweroff the kernel ends the namespace's init with a signal, so unshare fails.
  as_root timeout 900 unshare --mount --pid --fork --kill-child --uts --ipc --net --cgroup bash -euc '
    directory=$1
    mount --bind "$directory" "$directory"
    mount -t proc proc "$directory/proc"
    mount -t tmpfs -o mode=755 tmpfs "$directory/dev"
    for device in null zero full random urandom tty; do
      touch "$directory/dev/$device"
      mount --bind "/dev/$device" "$directory/dev/$device"
    done
    mkdir "$directory/dev/pts" "$directory/dev/shm"
    mount -t devpts -o ptmxmode=666 devpts "$directory/dev/pts"
    ln -s pts/ptmx "$directory/dev/ptmx"
    ln -s /proc/self/fd "$directory/dev/fd"
    mount -t sysfs sysfs "$directory/sys"
    mount -t cgroup2 cgroup2 "$directory/sys/fs/cgroup"
    for writable in run tmp dev/shm; do mount -t tmpfs tmpfs "$directory/$writable"; done
    # systemd builds its sandboxes from the root mount, which a plain chroot would not change.
    cd "$directory"
    pivot_root . .
    umount --lazy .
    exec env -i container=chroot PATH=/usr/sbin:/usr/bin:/sbin:/bin \
      /lib/systemd/systemd --system --unit=multi-user.target' boot "$directory" \
    </dev/null >/dev/null 2>&1 || true
  as_root cat "$directory/output" >&2 || die "systemd does not boot in $directory"
  [ "$(as_root cat "$directory/exit-code")" = 0 ]
}
