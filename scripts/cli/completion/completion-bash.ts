// SPDX-License-Identifier: Apache-2.0
/**
 * The completion script for bash, in the form of its programmable completion (the manual of bash,
 * section 8.6). Pure: words in, script out. Called by `vuhca completion`.
 */
import type { CommandWords, OptionWords } from './completion-words.ts';

/** The script; `source <(vuhca completion bash)` loads it. */
export function formatBashCompletion(commands: readonly CommandWords[]): string {
  return `# Completion of vuhca in bash: source <(vuhca completion bash)
_vuhca() {
  local word=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD - 1]} one options= words= files= operand=
  # bash splits --option=value into three words.
  if [[ $word == = ]]; then
    word=
  elif [[ $before == = ]]; then
    before=\${COMP_WORDS[COMP_CWORD - 2]}
  fi
  if ((COMP_CWORD == 1)); then
    options=--help words='${join(commands.map(({ name }) => name))}'
  else
    case \${COMP_WORDS[1]} in
${commands.map(formatCommand).join('\n')}
    esac
    for one in "\${COMP_WORDS[@]:2:COMP_CWORD-2}"; do
      if [[ $one == -- ]]; then
        options= words= files=1
        break
      elif [[ -n $operand && " $words " == *" $one "* ]]; then
        words=
      fi
    done
  fi
  [[ $word == -* && -n $options ]] && words=$options
  if [[ -n $words || -z $files ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
  else
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "$word")
  fi
}
complete -F _vuhca vuhca
`;
}

/** Sets `options`, and either the values of the option before the word, or the operands. */
function formatCommand({ name, options, operands }: CommandWords): string {
  const words = join(operands.flatMap(({ choices }) => choices));
  const files = operands.some(({ isFile }) => isFile) ? ' files=1' : '';
  return `      ${name})
        options='${join(options.map((option) => option.name))}'
        case $before in
${formatValues(options)}          *) operand=1 words='${words}'${files} ;;
        esac
        ;;`;
}

/** A branch for all options with the same kind of value. */
function formatValues(options: readonly OptionWords[]): string {
  const branches = new Map<string, string[]>();
  for (const { name, place, value } of options) {
    if (place !== 'next') continue;
    const action = value.isFile ? 'files=1' : `words='${join(value.choices)}'`;
    branches.set(action, [...(branches.get(action) ?? []), name]);
  }
  return [...branches].map(([action, names]) => `          ${names.join(' | ')}) ${action} ;;\n`).join('');
}

function join(words: readonly string[]): string {
  return words.join(' ');
}
