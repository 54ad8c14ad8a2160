#!/bin/sh
# Proves that a bare Debian 12 with git is enough: creates one with debootstrap in a temporary folder, clones the
# committed state of this project, and runs ./dev demo and then ./dev test there, or the given commands instead.
# Needs root, debootstrap and a Debian 12 host. Uses the host's package mirror, proxy, certificates and pip settings.
# usage: tests/fresh_debian.sh [COMMAND...]        for example: tests/fresh_debian.sh './dev demo'
# FRESH_DEBIAN_KEEP=1 keeps the folder.
set -eu

say() { printf 'fresh_debian: %s\n' "$*" >&2; }
fail() {
  say "$*"
  exit 1
}

# Uses a separate mount namespace. The mounts then end with this process, and no other process sees them.
if [ -z "${FRESH_DEBIAN_ROOT:-}" ]; then
  [ "$(id -u)" = 0 ] || fail 'run this as root'
  for tool in debootstrap git unshare chroot; do command -v $tool >/dev/null || fail "$tool is needed"; done
  FRESH_DEBIAN_ROOT=$(mktemp -d "${TMPDIR:-/var/tmp}/fresh_debian.XXXXXX")
  export FRESH_DEBIAN_ROOT
  status=0
  unshare --mount --propagation private "$0" "$@" || status=$?
  if [ -n "${FRESH_DEBIAN_KEEP:-}" ]; then say "kept $FRESH_DEBIAN_ROOT"; else
    rm -rf --one-file-system "$FRESH_DEBIAN_ROOT"
  fi
  exit "$status"
fi

root=$FRESH_DEBIAN_ROOT
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- './dev demo' './dev test'

# Takes only Debian 12's entries from the host's apt sources, without sources that the host may have added.
# shellcheck disable=SC2016 # the fields are for apt to fill in
sources=$(apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
  grep -E ' bookworm(-updates|-security)? main$' | sort -u)
mirror=$(printf '%s\n' "$sources" | awk '$3 == "bookworm" { print $2; exit }')
[ -n "$mirror" ] || fail 'apt of this host knows no mirror of Debian 12 (bookworm)'

say 'making a bare Debian 12'
debootstrap --variant=minbase bookworm "$root" "$mirror" >"$root.log" 2>&1 || {
  tail -n 20 "$root.log" >&2
  fail 'debootstrap failed'
}
rm -f "$root.log"
chmod 755 "$root" # With the mode 700 that mktemp sets, only root could open files in the folder.
printf '%s\n' "$sources" >"$root/etc/apt/sources.list"
# Copies the host's settings for its mirror: proxy, certificates, and tolerance of old indices.
apt-config dump --format '%F "%v";%n' Acquire | grep -Ei '^Acquire::(http|https|check|retries)' \
  >"$root/etc/apt/apt.conf.d/90host" || :
cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
mount -t proc proc "$root/proc"
mount -t sysfs -o ro sysfs "$root/sys"
mount --rbind /dev "$root/dev"

# Copies the host's certificates, including a proxy's certificate, to a file that belongs to no package.
authorities=/etc/ssl/host-certificates.crt
for host_authorities in "${PIP_CERT:-}" "${REQUESTS_CA_BUNDLE:-}" "${CURL_CA_BUNDLE:-}" "${SSL_CERT_FILE:-}" \
  /etc/ssl/certs/ca-certificates.crt; do
  [ -f "$host_authorities" ] || continue
  mkdir -p "$root/etc/ssl"
  cp -L "$host_authorities" "$root$authorities"
  break
done
# Copies pip's settings files to the places where pip reads them inside the new system. The variables below take
# precedence over these files.
copy_settings() { # FROM TO
  [ ! -f "$1" ] || install -D -m 600 "$1" "$root$2"
}
copy_settings /etc/xdg/pip/pip.conf /etc/xdg/pip/pip.conf
copy_settings /etc/pip.conf /etc/pip.conf
copy_settings "${HOME:-/root}/.pip/pip.conf" /root/.pip/pip.conf
copy_settings "${XDG_CONFIG_HOME:-${HOME:-/root}/.config}/pip/pip.conf" /root/.config/pip/pip.conf
copy_settings "${PIP_CONFIG_FILE:-}" /etc/pip-config-file.conf

# Prints the environment variables for a program in the new system, one per line.
environment_inside() {
  printf '%s\n' HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8
  env | grep -E '^(https?_proxy|HTTPS?_PROXY|no_proxy|NO_PROXY|PIP_[A-Z_]+)=' | grep -vE '^PIP_(CERT|CONFIG_FILE|CACHE_DIR)=' || :
  [ ! -f "$root/etc/pip-config-file.conf" ] || printf '%s\n' PIP_CONFIG_FILE=/etc/pip-config-file.conf
  [ ! -f "$root$authorities" ] || for name in SSL_CERT_FILE REQUESTS_CA_BUNDLE CURL_CA_BUNDLE PIP_CERT; do
    printf '%s\n' "$name=$authorities"
  done
}

inside() { # SHELL-COMMAND
  shell_command=$1
  set --
  while read -r variable; do set -- "$@" "$variable"; done <<LINES
$(environment_inside)
LINES
  env -i "$@" chroot "$root" sh -c "$shell_command" </dev/null
}

say 'installing git, and nothing else'
inside 'apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends git' \
  >"$root/var/log/git.log" 2>&1 || {
  tail -n 20 "$root/var/log/git.log" >&2
  fail 'installing git failed'
}
git bundle create --quiet "$root/root/gradus.bundle" HEAD --branches
inside "cd /root && git clone --quiet gradus.bundle gradus && cd gradus && git checkout --quiet $(git rev-parse HEAD)"

for command in "$@"; do
  say "running: $command"
  start=$(date +%s)
  inside "cd /root/gradus && $command" || fail "'$command' failed after $(($(date +%s) - start)) s"
  say "'$command' took $(($(date +%s) - start)) s"
done
say 'all of it succeeded'
