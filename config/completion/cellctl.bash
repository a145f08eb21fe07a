# shellcheck shell=bash
# Completion of cellctl for bash, made by `cellctl completion bash`.
_cellctl() {
  local word previous command='' words='' files='' skip='' i
  word=${COMP_WORDS[COMP_CWORD]}
  previous=${COMP_WORDS[COMP_CWORD - 1]}
  COMPREPLY=()
  case $previous in
    --state)
      mapfile -t COMPREPLY < <(compgen -W 'scheduled queued running retrying compensating succeeded failed cancelled' -- "$word")
      return ;;
    --token-file | --cacert | --client-cert | --client-key | -f | --file)
      mapfile -t COMPREPLY < <(compgen -f -- "$word")
      return ;;
    --url | --request-timeout | --customer | --product | --action | --entity | --subtype | --service | --parameter | --priority | --delay | --at | --expires | --timeout | --max-attempts | --on-failure | --label | --key | --retries | --since | --until | --limit | --cursor)
      return ;;
  esac
  for ((i = 1; i < COMP_CWORD; i++)); do
    if [ -n "$skip" ]; then
      skip=''
      continue
    fi
    case ${COMP_WORDS[i]} in
      --state | --token-file | --cacert | --client-cert | --client-key | -f | --file | --url | --request-timeout | --customer | --product | --action | --entity | --subtype | --service | --parameter | --priority | --delay | --at | --expires | --timeout | --max-attempts | --on-failure | --label | --key | --retries | --since | --until | --limit | --cursor) skip=1 ;;
      -*) ;;
      *)
        case $command in
          '') command=${COMP_WORDS[i]} ;;
          submit | *' '*) ;;
          *) command="$command ${COMP_WORDS[i]}" ;;
        esac ;;
    esac
  done
  case $command in
    '') words='submit reload backup job cell service config completion --url --token-file --cacert --client-cert --client-key --request-timeout --json -h --help --version' ;;
    'job') words='get list cancel retry wait events' ;;
    'cell') words='list get resize pause resume drain' ;;
    'service') words='list' ;;
    'config') words='check show' ;;
    'completion') words='bash zsh fish' ;;
    'submit') words='-f --file --customer --product --action --entity --subtype --service --parameter --priority --delay --at --expires --timeout --max-attempts --on-failure --label --key --retries --wait -q --quiet --url --token-file --cacert --client-cert --client-key --request-timeout --json -h --help --version' ;;
    'job get') words='--watch --url --token-file --cacert --client-cert --client-key --request-timeout --json -h --help --version' ;;
    'job list') words='--customer --product --state --service --entity --label --since --until --limit --cursor --all --watch --url --token-file --cacert --client-cert --client-key --request-timeout --json -h --help --version' ;;
    'job cancel') words='--url --token-file --cacert --client-cert --client-key --request-timeout --json -h --help --version' ;;
    'job retry') words='--url --token-file --cacert --client-cert --client-key --request-timeout --json -h --help --version' ;;
    'job wait') words='--timeout --url --token-file --cacert --client-cert --client-key --request-timeout --json -h --help --version' ;;
    'job events') words='--customer --product --url --token-file --cacert --client-cert --client-key --request-timeout --json -h --help --version' ;;
    'cell list') words='--limit --cursor --all --watch --url --token-file --cacert --client-cert --client-key --request-timeout --json -h --help --version' ;;
    'cell get') words='--watch --url --token-file --cacert --client-cert --client-key --request-timeout --json -h --help --version' ;;
    'cell resize') words='--reset --url --token-file --cacert --client-cert --client-key --request-timeout --json -h --help --version' ;;
    'cell pause') words='--url --token-file --cacert --client-cert --client-key --request-timeout --json -h --help --version' ;;
    'cell resume') words='--url --token-file --cacert --client-cert --client-key --request-timeout --json -h --help --version' ;;
    'cell drain') words='--url --token-file --cacert --client-cert --client-key --request-timeout --json -h --help --version' ;;
    'service list') words='--watch --url --token-file --cacert --client-cert --client-key --request-timeout --json -h --help --version' ;;
    'reload') words='--url --token-file --cacert --client-cert --client-key --request-timeout --json -h --help --version' ;;
    'backup') words='--force --url --token-file --cacert --client-cert --client-key --request-timeout --json -h --help --version' files=1 ;;
    'config check') words='--url --token-file --cacert --client-cert --client-key --request-timeout --json -h --help --version' files=1 ;;
    'config show') words='--url --token-file --cacert --client-cert --client-key --request-timeout --json -h --help --version' ;;
    'completion bash') words='--url --token-file --cacert --client-cert --client-key --request-timeout --json -h --help --version' ;;
    'completion zsh') words='--url --token-file --cacert --client-cert --client-key --request-timeout --json -h --help --version' ;;
    'completion fish') words='--url --token-file --cacert --client-cert --client-key --request-timeout --json -h --help --version' ;;
  esac
  mapfile -t COMPREPLY < <(
    compgen -W "$words" -- "$word"
    if [ -n "$files" ]; then compgen -f -- "$word"; fi
  )
}
complete -o filenames -F _cellctl cellctl
