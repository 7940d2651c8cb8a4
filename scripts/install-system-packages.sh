#!/bin/sh
# Installs the packages of Debian or Homebrew that the tests use, if they are not there yet; with "browser", only that.
set -eu

if command -v brew >/dev/null; then
    [ -d /Applications/Chromium.app ] || brew install --quiet --cask chromium
    [ "${1:-}" = browser ] || brew list --versions postgresql@17 >/dev/null || brew install --quiet postgresql@17
    exit 0
fi

packages=""
[ -x /usr/bin/chromium-headless-shell ] || [ -x /usr/bin/chromium ] || packages="$packages chromium-headless-shell"
[ "${1:-}" = browser ] || ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || packages="$packages postgresql"
[ -n "$packages" ] || exit 0

if ! command -v apt-get >/dev/null; then
    echo "Please install:$packages (this machine has no apt-get)" >&2
    exit 1
fi
as_root=""
[ "$(id -u)" -eq 0 ] || as_root="sudo"
echo "Installing$packages"
export DEBIAN_FRONTEND=noninteractive
$as_root apt-get update -qq
# shellcheck disable=SC2086  # one word per package
$as_root apt-get install -y -qq --no-install-recommends $packages >/dev/null
