// SPDX-License-Identifier: Apache-2.0
/**
 * The completion script for zsh, in the form of its function _arguments (the manual page
 * zshcompsys). Pure: words in, script out. Called by `vuhca completion`.
 */
import type { CommandWords, OptionWords, WordValue } from './completion-words.ts';

/** The script; `source <(vuhca completion zsh)` loads it, as does a file `_vuhca` in $fpath. */
export function formatZshCompletion(commands: readonly CommandWords[]): string {
  return `#compdef vuhca
# Completion of vuhca in zsh: source <(vuhca completion zsh), behind compinit
_vuhca() {
  local curcontext=$curcontext state line
  local -A opt_args
  local -a commands
  commands=(
${commands.map(({ name, summary }) => `    ${quote(`${name}:${summary}`)}`).join('\n')}
  )
  _arguments -C '(- *)--help[Prints this help]' '1:command:->command' '*::argument:->argument' && return
  case $state in
    command)
      _describe command commands
      ;;
    argument)
      case $words[1] in
${commands.map(formatCommand).join('\n')}
      esac
      ;;
  esac
}
if [[ $funcstack[1] == _vuhca ]]; then
  _vuhca "$@"
else
  compdef _vuhca vuhca
fi
`;
}

function formatCommand({ name, options, operands, takesRest }: CommandWords): string {
  const rest = takesRest ? ["'*:argument:_files'"] : [];
  const words = [...options.map(formatOption), ...operands.map(formatOperand), ...rest];
  return `        ${name})
          _arguments ${words.join(' \\\n            ')}
          ;;`;
}

/** A value may follow the option, or come after `=`; `=-` allows only the latter. */
function formatOption({ name, description, place, value }: OptionWords): string {
  const text = `[${description.replaceAll(/[[\]\\]/g, '\\$&')}]`;
  if (place === 'none') return quote(`${name}${text}`);
  return quote(place === 'equals' ? `${name}=-${text}:${formatValue(value)}` : `*${name}=${text}${formatValue(value)}`);
}

function formatOperand(value: WordValue, index: number): string {
  return quote(`${value.isList ? '*' : index + 1}${formatValue(value)}`);
}

/** The name of a value, and the action that finds values; a blank is the action that finds none. */
function formatValue({ name, choices, isFile }: WordValue): string {
  const action = isFile ? '_files' : choices.length > 0 ? `(${choices.join(' ')})` : ' ';
  return `:${name.replaceAll(':', '\\:')}:${action.replaceAll(':', '\\:')}`;
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
