import { useState } from 'preact/hooks'
import { TextField } from '../components/fields.tsx'
import { Icon } from '../components/icon.tsx'
import type { TextProps } from '../components/use-form.ts'
import { parseJson } from '../event-changes.ts'
import * as texts from '../texts/index.ts'

/** A fact (a member of `meta`) as it is typed. */
interface Row {
  readonly name: string
  readonly value: string
  /** Not a number or a boolean, whose JSON the value is. */
  readonly isText: boolean
}

/** The facts that a text in JSON has; `undefined` for none, and for a text with a problem. */
export function parseFacts(text: string): Readonly<Record<string, unknown>> | undefined {
  const value = parseJson(text)
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined
}

/** What is wrong with the text of facts. The API checks the rest. */
export function problemInFacts(text: string): string | undefined {
  if (text.trim() === '' || parseFacts(text) !== undefined) return undefined
  return text === WRONG_NAMES ? texts.facts.wrongNames : texts.problems.invalid.meta
}

/** The text of rows that are not an object: a name is missing, or there twice. */
const WRONG_NAMES = '[]'

/** The rows of a text; `undefined` for what only JSON can show. */
function rowsOf(text: string): readonly Row[] | undefined {
  const facts = text.trim() === '' ? {} : parseFacts(text)
  if (facts === undefined || Object.values(facts).some((value) => typeof value === 'object')) return undefined
  return Object.entries(facts).map(([name, value]) =>
    typeof value === 'string' ? { name, value, isText: true } : { name, value: JSON.stringify(value), isText: false },
  )
}

function textOf(rows: readonly Row[]): string {
  const used = rows.filter(({ name, value }) => `${name}${value}`.trim() !== '')
  const names = new Set(used.map(({ name }) => name.trim()))
  if (names.has('') || names.size < used.length) return WRONG_NAMES
  const facts = used.map(({ name, value, isText }) => [name, isText ? value : (parseJson(value) ?? value)])
  return used.length === 0 ? '' : JSON.stringify(Object.fromEntries(facts), null, 2)
}

/** Facts as rows of name and value, or as JSON. The text of the form is JSON. */
export function FactsField(props: TextProps) {
  const t = texts.facts
  const { value: text, onChange } = props
  const [isJson, setJson] = useState(rowsOf(text) === undefined)
  // Rows can hold what the text cannot.
  const [typed, setTyped] = useState({ text, rows: rowsOf(text) })
  const rows = typed.text === text ? typed.rows : rowsOf(text)
  const change = (next: readonly Row[]): void => {
    setTyped({ text: textOf(next), rows: next })
    onChange(textOf(next))
  }
  return (
    <div class="stack">
      {isJson || rows === undefined ? (
        <TextField label={t.json} rows={4} {...props} />
      ) : (
        <FactRows {...props} rows={rows} onRows={change} />
      )}
      {rows && text !== WRONG_NAMES && (
        <button type="button" class="link small" onClick={() => setJson(!isJson)}>
          {isJson ? t.asRows : t.asJson}
        </button>
      )}
    </div>
  )
}

interface RowsProps extends TextProps {
  readonly rows: readonly Row[]
  readonly onRows: (rows: readonly Row[]) => void
}

/** The rows, and an empty one: what is typed there is the next fact. */
function FactRows({ rows, onRows, problem, hint }: RowsProps) {
  const t = texts.facts
  const shown = [...rows, { name: '', value: '', isText: true }]
  const edit = (at: number, change: Partial<Row>): void =>
    onRows(shown.slice(0, Math.max(rows.length, at + 1)).map((row, i) => (i === at ? { ...row, ...change } : row)))
  // A missing name is that of the empty row.
  const isWrong = (at: number): boolean =>
    problem !== undefined && at < rows.length && shown.some(({ name }, i) => i !== at && name === shown[at]?.name)
  return (
    <fieldset>
      <legend>{t.title}</legend>
      {shown.map((row, i) => (
        <div class="grid kv" key={i}>
          {(['name', 'value'] as const).map((part) => (
            <input
              key={part}
              aria-label={t.label(i + 1, part)}
              aria-invalid={part === 'name' && isWrong(i)}
              placeholder={t.parts[part]}
              value={row[part]}
              onInput={(event) => edit(i, { [part]: event.currentTarget.value })}
            />
          ))}
          {i < rows.length && (
            <button
              type="button"
              class="plain square"
              aria-label={t.remove(i + 1)}
              onClick={() => onRows(rows.filter((_, at) => at !== i))}
            >
              <Icon name="cross" />
            </button>
          )}
        </div>
      ))}
      <p class="hint">{hint}</p>
      <p class="problem" role="alert">
        {problem}
      </p>
    </fieldset>
  )
}
