// SPDX-License-Identifier: Apache-2.0
/** A field for a condition in words, with examples that the reader completes. */

const EXAMPLES = ['fault', 'overflow not empty', 'qp 5 leaves RTS', 'interrupt', 'packet lost', 'link down'];

export function ConditionInput({ value, onChange }: { value: string; onChange: (text: string) => void }) {
  return (
    <>
      <input
        list="conditions"
        value={value}
        placeholder="until: overflow not empty"
        aria-label="Condition"
        onInput={({ currentTarget }) => onChange(currentTarget.value)}
      />
      <datalist id="conditions">
        {EXAMPLES.map((one) => (
          <option key={one} value={one} />
        ))}
      </datalist>
    </>
  );
}
