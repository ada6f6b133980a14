#!/usr/bin/env bash
# Installs what building and testing needs, from Debian 12's own packages. Does nothing where all are there.
#   install-deps.sh            install what is missing: as root, or through sudo
#   install-deps.sh --list     print the packages
set -euo pipefail

packages=(
    make cmake ninja-build g++ pkg-config
    antlr4 libantlr4-runtime-dev     # the parser is generated from grammar/*.g4
    libisl-dev                       # integer sets of the analysis
    libcli11-dev libfmt-dev nlohmann-json3-dev
    libtomlplusplus-dev              # descriptions of GPUs
    libopenimageio-dev libimath-dev  # image files in `pipec run`
    zlib1g-dev                       # compressed Zarr arrays in `pipec run`
    libgtest-dev librapidcheck-dev   # tests
    libboost-context-dev             # tests of kernels: the emulator's fibers
    python3                          # tests of the editor support and of pages
    python3-numpy                    # tests of the Python package
    python3-dask python3-distributed python3-zarr
)

if [ "${1-}" = --list ]; then
    printf '%s\n' "${packages[@]}"
    exit
fi
if ! command -v dpkg-query >/dev/null; then
    echo "This is not Debian; please see to it that there is what these packages hold: ${packages[*]}" >&2
    exit
fi

missing=()
for package in "${packages[@]}"; do
    status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$status" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

if [ "$(id -u)" -eq 0 ]; then
    as_root=(env)
elif command -v sudo >/dev/null; then
    as_root=(sudo)
else
    echo "These packages are missing and only root can install them:" >&2
    echo "  apt-get install --no-install-recommends ${missing[*]}" >&2
    exit 1
fi
echo "Installing ${missing[*]}"
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"
