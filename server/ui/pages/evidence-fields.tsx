import { TextField } from '../components/fields.tsx'
import type { TextProps } from '../components/use-form.ts'
import { parseJson } from '../event-changes.ts'
import { FieldError } from '../failure.ts'
import { texts } from '../texts.ts'

/** @throws `FieldError` if the text is not a JSON object. The API checks the rest. */
export function parseMeta(text: string): { readonly [name: string]: unknown } | undefined {
  if (text.trim() === '') return undefined
  const value = parseJson(text)
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value }
  throw new FieldError('meta', texts.form.metaInvalid)
}

/** The fields that a new evidence and an update have in common. */
export const ContentFields = ({ props }: { readonly props: (name: ContentField) => TextProps }) => (
  <>
    <TextField label={texts.fields.description} rows={3} {...props('description')} />
    <TextField label={texts.fields.summary} rows={2} {...props('summary')} />
    <TextField label={texts.form.meta} rows={4} {...props('meta')} />
  </>
)

type ContentField = 'description' | 'summary' | 'meta'
