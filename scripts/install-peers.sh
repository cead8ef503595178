#!/usr/bin/env bash
# Installs the systems outside of Rust that Myriad is compared with, from Debian's or Ubuntu's packages. Needs root.
#   scripts/install-peers.sh             installs what is missing
#   scripts/install-peers.sh --list      only says what that would be
# Taskflow, which is headers, is no package there: TASKFLOW_INCLUDE names the folder that has taskflow/taskflow.hpp.
# Julia is not in Debian 12: https://julialang.org/downloads/. Debian's OpenBLAS is too old to be run by us: scripts/install-openblas.sh.
set -euo pipefail

packages=(
    golang-go           # Go: echo
    erlang-base         # Erlang: actor
    elixir              # Elixir: actor, agent
    ghc                 # Haskell's threads and MVars
    clojure             # Clojure: agent
    libcore-async-clojure # core.async: ops
    g++                 # the programs in C++
    libtbb-dev          # oneTBB's flow graphs: graph
    libboost-fiber-dev  # Boost.Fiber
    libfftw3-dev        # a foreign library with threads of its own
    libopenblas-dev     # another
    slurm-wlm           # a queue manager, for jobs
)

missing=()
for package in "${packages[@]}"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
    echo "all peers are installed"
    exit 0
fi
echo "missing: ${missing[*]}"
if [ "${1:-}" = --list ]; then
    exit 0
fi
if [ "$(id -u)" -ne 0 ]; then
    echo "install-peers.sh: needs root: sudo $0" >&2
    exit 1
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update
apt-get install -y --no-install-recommends "${missing[@]}"
echo "installed: ${missing[*]}"
