#!/bin/sh
# Installs the tidemark binary of a release, after verifying its checksum and starting it once. Requires tar, and curl or wget.
# The binary for Linux requires glibc 2.35 or newer.
#
#   curl -fsSL https://github.com/tidemark-dev/tidemark/releases/latest/download/install.sh | sh
#
# TIDEMARK_VERSION       release to install, such as 0.1.0 [default: latest]
# TIDEMARK_INSTALL_DIR   folder of the binary [default: ~/.local/bin, or /usr/local/bin for root]
# TIDEMARK_RELEASES      URL of the releases, for mirrors
set -eu

fail() {
    printf 'install.sh: %s\n' "$1" >&2
    exit 1
}

fetch() {
    if command -v curl >/dev/null 2>&1; then
        curl --fail --silent --show-error --location --retry 3 --output "$2" "$1"
    elif command -v wget >/dev/null 2>&1; then
        wget --quiet --tries=3 --output-document="$2" "$1"
    else
        fail "Install curl or wget."
    fi || fail "$1 could not be downloaded."
}

checksum() {
    if command -v sha256sum >/dev/null 2>&1; then
        sha256sum "$1"
    elif command -v shasum >/dev/null 2>&1; then
        shasum -a 256 "$1"
    else
        fail "Install sha256sum or shasum."
    fi | cut -d ' ' -f 1
}

target() {
    os=$(uname -s)
    machine=$(uname -m)
    case "$machine" in
        x86_64 | amd64) machine=x86_64 ;;
        aarch64 | arm64) machine=aarch64 ;;
        *) fail "There is no binary for the architecture $machine. Build Tidemark from source; see docs/install.md." ;;
    esac
    case "$os" in
        Linux)
            # The binary uses the GNU C library.
            if [ -e /etc/alpine-release ]; then
                fail "There is no binary for Alpine Linux. Use the container image; see docs/install.md."
            fi
            printf '%s-unknown-linux-gnu' "$machine"
            ;;
        Darwin) printf '%s-apple-darwin' "$machine" ;;
        *) fail "There is no binary for the system $os. Build Tidemark from source; see docs/install.md." ;;
    esac
}

# Everything is in a function, so that an incomplete download of this script runs nothing.
main() {
    releases="${TIDEMARK_RELEASES:-https://github.com/tidemark-dev/tidemark/releases}"
    version="${TIDEMARK_VERSION:-latest}"
    case "$version" in
        latest) release="$releases/latest/download" ;;
        *) release="$releases/download/v${version#v}" ;;
    esac
    if [ -n "${TIDEMARK_INSTALL_DIR:-}" ]; then
        folder="$TIDEMARK_INSTALL_DIR"
    elif [ "$(id -u)" -eq 0 ]; then
        folder=/usr/local/bin
    else
        folder="$HOME/.local/bin"
    fi
    name="tidemark-$(target)" || exit 1
    temporary=$(mktemp -d)
    trap 'rm -rf "$temporary"' EXIT
    trap 'exit 1' HUP INT TERM

    fetch "$release/SHA256SUMS" "$temporary/SHA256SUMS"
    expected=$(awk -v name="$name.tar.gz" '$2 == name || $2 == "*" name { print $1; exit }' "$temporary/SHA256SUMS")
    [ -n "$expected" ] || fail "The release has no file $name.tar.gz."
    fetch "$release/$name.tar.gz" "$temporary/archive"
    actual=$(checksum "$temporary/archive") || exit 1
    if [ "$actual" != "$expected" ]; then
        fail "The checksum of $name.tar.gz is $actual, but SHA256SUMS has $expected. Nothing was installed."
    fi

    tar -xzf "$temporary/archive" -C "$temporary"
    mkdir -p "$folder"
    cp "$temporary/$name/tidemark" "$folder/.tidemark.new"
    chmod 755 "$folder/.tidemark.new"
    # The installed binary is replaced only if the new one starts on this system.
    if ! "$folder/.tidemark.new" --version; then
        rm -f "$folder/.tidemark.new"
        fail "The binary does not start on this system. It requires glibc 2.35 or newer on Linux. Nothing was changed."
    fi
    # Replaces the file instead of writing to it: the binary may be running.
    mv -f "$folder/.tidemark.new" "$folder/tidemark"
    printf 'Installed %s\n' "$folder/tidemark"
    case ":$PATH:" in
        *":$folder:"*) ;;
        *) printf 'Add %s to your PATH.\n' "$folder" ;;
    esac
}

main
