#!/bin/sh
# Installs a release of agentbench into a folder, if its checksum is right.
#
#   sh install.sh v0.1.0               into $HOME/.local/bin
#   sh install.sh v0.1.0 /usr/local/bin
#
# AGENTBENCH_RELEASES is where the releases are (default: GitHub). With cosign in the
# PATH the signature of the checksums is checked too.
set -eu

fail() { echo "install.sh: $*" >&2; exit 1; }

version=${1:-}
folder=${2:-$HOME/.local/bin}
case $version in
v[0-9]*.[0-9]*.[0-9]*) ;;
*) fail "which release? Such as: sh install.sh v0.1.0" ;;
esac
case $(uname -s) in
Linux) os=linux ;;
Darwin) os=darwin ;;
*) fail "there is no release for $(uname -s) that this script can install; docs/install.md says what else there is" ;;
esac
case $(uname -m) in
x86_64 | amd64) arch=amd64 ;;
aarch64 | arm64) arch=arm64 ;;
*) fail "there is no release for $(uname -m); docs/install.md says how to build one" ;;
esac

file=agentbench_${version#v}_${os}_${arch}.tar.gz
from=${AGENTBENCH_RELEASES:-https://github.com/agentbench-go/agentbench/releases/download}/$version
temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT

fetch() { curl --fail --silent --show-error --location --output "$temp/$1" "$from/$1" || fail "cannot fetch $from/$1"; }
fetch checksums.txt
fetch "$file"

if command -v cosign >/dev/null; then
	fetch checksums.txt.sigstore.json
	cosign verify-blob "$temp/checksums.txt" --bundle "$temp/checksums.txt.sigstore.json" \
		--certificate-identity "https://github.com/agentbench-go/agentbench/.github/workflows/release.yml@refs/tags/$version" \
		--certificate-oidc-issuer https://token.actions.githubusercontent.com >/dev/null || fail "the signature of checksums.txt is not that of the release workflow"
fi

want=$(awk -v file="$file" '$2 == file { print $1 }' "$temp/checksums.txt")
if command -v sha256sum >/dev/null; then
	got=$(sha256sum "$temp/$file")
else
	got=$(shasum -a 256 "$temp/$file")
fi
[ -n "$want" ] && [ "${got%% *}" = "$want" ] || fail "the checksum of $file is not the one in checksums.txt: nothing is installed"

tar -xzf "$temp/$file" -C "$temp" agentbench
mkdir -p "$folder"
mv "$temp/agentbench" "$folder/agentbench"
echo "installed $folder/agentbench"
