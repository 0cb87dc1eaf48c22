import { useState } from 'preact/hooks'
import type { RequestOptions } from '../../client/index.ts'
import { TextField, type FormState } from '../components/form.tsx'
import { FieldError } from '../failure.ts'
import { texts } from '../texts.ts'

/** The properties of a text field's control. */
export interface TextProps {
  readonly value: string
  readonly onChange: (value: string) => void
  readonly problem: string | undefined
}

/** Texts of fields by name, and the properties of each field's control. */
export function useTexts<Name extends string>(form: FormState, initial: Readonly<Record<Name, string>>) {
  const [values, setValues] = useState(initial)
  const props = (name: Name): TextProps => ({
    value: values[name],
    onChange: (value: string) => setValues((before) => ({ ...before, [name]: value })),
    problem: form.problemOf(name),
  })
  return { values, props }
}

/** @throws `FieldError` if the text is not a JSON object. The API checks the rest. */
export function parseMeta(text: string): { readonly [name: string]: unknown } | undefined {
  if (text.trim() === '') return undefined
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new FieldError('meta', texts.form.metaInvalid)
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new FieldError('meta', texts.form.metaInvalid)
  return { ...value }
}

/** The progress of an upload in percent; `undefined` if nothing is being uploaded. */
export function useProgress() {
  const [percent, setPercent] = useState<number>()
  const options: RequestOptions = {
    onProgress: ({ sentBytes, totalBytes = 0 }) =>
      setPercent(totalBytes === 0 ? 0 : Math.floor((sentBytes / totalBytes) * 100)),
  }
  return { percent, options, end: () => setPercent(undefined) }
}

/** A text field for a JSON object. */
export function MetaField(props: TextProps) {
  return <TextField label={texts.form.meta} rows={4} {...props} />
}
