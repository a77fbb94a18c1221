#!/bin/sh
# Prints the Homebrew formula of a release, for a tap:
#
#   sh formula.sh v0.1.0 dist/checksums.txt >Formula/agentbench.rb
set -eu
version=$1
sums=$2

sum() {
	found=$(awk -v file="agentbench_${version#v}_$1.tar.gz" '$2 == file { print $1 }' "$sums")
	[ -n "$found" ] || { echo "formula.sh: $sums has no agentbench_${version#v}_$1.tar.gz" >&2; exit 1; }
	echo "$found"
}

archive() {
	cat <<RUBY
      url "https://github.com/agentbench-go/agentbench/releases/download/$version/agentbench_${version#v}_$1.tar.gz"
      sha256 "$2"
RUBY
}

darwin_arm64=$(sum darwin_arm64)
darwin_amd64=$(sum darwin_amd64)
linux_arm64=$(sum linux_arm64)
linux_amd64=$(sum linux_amd64)

cat <<RUBY
class Agentbench < Formula
  desc "Failure-test harness for LLM agent loops"
  homepage "https://github.com/agentbench-go/agentbench"
  version "${version#v}"
  license "Apache-2.0"

  on_macos do
    on_arm do
$(archive darwin_arm64 "$darwin_arm64")
    end
    on_intel do
$(archive darwin_amd64 "$darwin_amd64")
    end
  end

  on_linux do
    on_arm do
$(archive linux_arm64 "$linux_arm64")
    end
    on_intel do
$(archive linux_amd64 "$linux_amd64")
    end
  end

  def install
    bin.install "agentbench"
    generate_completions_from_executable(bin/"agentbench", "completion")
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/agentbench version")
  end
end
RUBY
