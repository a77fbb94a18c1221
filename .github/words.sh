# words NAME TEXT puts the arguments of TEXT into the array args. They are quoted as for a
# shell, and nothing is expanded. A quote that is not closed ends the step: an argument
# that got lost, such as --baseline, would change what is judged.
words() {
  local name=$1 text=$2 list="$RUNNER_TEMP/agentbench/words" word
  args=()
  [[ $text == *[![:space:]]* ]] || return 0
  mkdir -p "$RUNNER_TEMP/agentbench"
  if ! xargs -n1 printf '%s\0' <<<"$text" >"$list" 2>/dev/null; then
    echo "::error::the input $name is not a list of arguments: a quote is not closed on its line"
    exit 2
  fi
  while IFS= read -r -d '' word; do args+=("$word"); done <"$list"
}
