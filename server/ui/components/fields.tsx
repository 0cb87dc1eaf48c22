import type { ComponentChildren } from 'preact'
import { useId, useState } from 'preact/hooks'
import * as texts from '../texts/index.ts'
import { fittingFiles } from './upload.tsx'

interface FieldProps {
  /** As the API calls it. */
  readonly name?: string
  readonly label: string
  readonly hint?: string | undefined
  readonly problem?: ComponentChildren
  readonly isRequired?: boolean
}

interface Control {
  readonly name: string | undefined
  readonly id: string
  readonly 'aria-describedby': string
  readonly 'aria-invalid': boolean
  readonly required: boolean
}

/** A label, its control, a hint, and what is wrong with the value. */
export function Field({
  name,
  label,
  hint,
  problem,
  isRequired = false,
  children,
}: FieldProps & { children: (control: Control) => ComponentChildren }) {
  const id = useId()
  const control = {
    id,
    name,
    'aria-describedby': `${id}-hint ${id}-problem`,
    'aria-invalid': problem !== undefined,
    required: isRequired,
  }
  return (
    <div class="field">
      <label for={id} class={isRequired ? 'is-required' : undefined}>
        {label}
      </label>
      {children(control)}
      <div class="hint" id={`${id}-hint`}>
        {hint}
      </div>
      <div class="problem" id={`${id}-problem`} role="alert">
        {problem}
      </div>
    </div>
  )
}

interface TextFieldProps extends FieldProps {
  readonly value: string
  readonly onChange: (value: string) => void
  readonly type?: 'text' | 'password' | 'datetime-local' | 'search'
  readonly rows?: number
  readonly autocomplete?: string
  readonly suggestions?: readonly string[]
}

/** One line of text, or several lines if `rows` is given. */
export function TextField({
  value,
  onChange,
  type = 'text',
  rows,
  autocomplete = 'off',
  suggestions,
  ...field
}: TextFieldProps) {
  const listId = useId()
  const change = (event: { readonly currentTarget: { readonly value: string } }): void =>
    onChange(event.currentTarget.value)
  // The types of Preact allow `list` only for some literal types of an input.
  const attributes: Readonly<Record<string, string>> = {
    type,
    autocomplete,
    ...(suggestions && { list: listId }),
    // It is typed exactly as it is written on the thing.
    ...(field.name === 'externalId' && { autocapitalize: 'off', spellcheck: 'false' }),
  }
  return (
    <Field {...field}>
      {(control) =>
        rows === undefined ? (
          <>
            <input {...control} {...attributes} value={value} onInput={change} />
            {suggestions && (
              <datalist id={listId}>
                {suggestions.map((each) => (
                  <option key={each} value={each} />
                ))}
              </datalist>
            )}
          </>
        ) : (
          <textarea {...control} rows={rows} value={value} onInput={change} />
        )
      }
    </Field>
  )
}

interface SelectFieldProps extends FieldProps {
  readonly value: string
  readonly onChange: (value: string) => void
  /** Values with their texts, in order. */
  readonly choices: readonly (readonly [value: string, text: string])[]
}

/** A choice of one value. */
export function SelectField({ value, onChange, choices, ...field }: SelectFieldProps) {
  return (
    <Field {...field}>
      {(control) => (
        <select {...control} value={value} onChange={(event) => onChange(event.currentTarget.value)}>
          {choices.map(([choice, text]) => (
            <option key={choice} value={choice}>
              {text}
            </option>
          ))}
        </select>
      )}
    </Field>
  )
}

interface FileFieldProps extends FieldProps {
  readonly onChange: (files: readonly File[]) => void
  readonly accept?: string
}

/** A choice of files. The browser keeps them: a form only gets them on a change. One that is too large is refused. */
export function FileField({ onChange, accept, problem, ...field }: FileFieldProps) {
  const [tooLarge, setTooLarge] = useState<string>()
  const choose = ({ currentTarget }: { readonly currentTarget: HTMLInputElement }): void => {
    const { fitting, problem: refused } = fittingFiles(currentTarget.files ?? [])
    if (refused !== undefined) currentTarget.value = ''
    setTooLarge(refused)
    onChange(fitting)
  }
  return (
    <Field problem={tooLarge ?? problem} {...field}>
      {(control) => <input {...control} type="file" {...(accept && { accept })} onChange={choose} />}
    </Field>
  )
}

interface CheckFieldProps {
  readonly label: string
  readonly hint?: string
  readonly isChecked: boolean
  /** Absent: it cannot be changed. */
  readonly onChange?: (isChecked: boolean) => void
  /** A switch, whose whole row can be pressed. */
  readonly isSwitch?: boolean
  readonly isWarning?: boolean
}

/** A choice of yes or no. */
export function CheckField({ label, hint, isChecked, onChange, isSwitch = false, isWarning = false }: CheckFieldProps) {
  const id = useId()
  return (
    <div class={isSwitch ? 'field switch' : 'field'}>
      <div class="check">
        <input
          id={id}
          type="checkbox"
          {...(isSwitch && { role: 'switch' as const })}
          checked={isChecked}
          disabled={onChange === undefined}
          aria-describedby={`${id}-hint`}
          onChange={(event) => onChange?.(event.currentTarget.checked)}
        />
        <label for={id}>{label}</label>
      </div>
      <div class={isWarning ? 'hint is-warning' : 'hint'} id={`${id}-hint`}>
        {hint}
      </div>
    </div>
  )
}

/** One of several values that can be chosen. */
export interface CheckChoice {
  readonly value: string
  readonly label: string
}

interface CheckListProps {
  readonly legend: string
  readonly choices: readonly CheckChoice[]
  readonly chosen: ReadonlySet<string>
  readonly onChange: (chosen: ReadonlySet<string>) => void
}

/** A choice of any number of values, with buttons for all and for none. */
export function CheckList({ legend, choices, chosen, onChange }: CheckListProps) {
  const all = choices.map(({ value }) => value)
  const toggle = (value: string, isChecked: boolean): void =>
    onChange(new Set(all.filter((each) => (each === value ? isChecked : chosen.has(each)))))
  return (
    <fieldset>
      <legend>{legend}</legend>
      <div class="row">
        <button type="button" onClick={() => onChange(new Set(all))}>
          {texts.all}
        </button>
        <button type="button" onClick={() => onChange(new Set())}>
          {texts.nothing}
        </button>
      </div>
      <div class="grid choices">
        {choices.map(({ value, label }) => (
          <label class="flex wrap" key={value}>
            <input
              type="checkbox"
              checked={chosen.has(value)}
              onChange={(event) => toggle(value, event.currentTarget.checked)}
            />
            <bdi>{label}</bdi>
          </label>
        ))}
      </div>
    </fieldset>
  )
}
