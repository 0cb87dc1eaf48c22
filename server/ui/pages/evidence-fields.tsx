import { TextField } from '../components/fields.tsx'
import type { TextProps } from '../components/use-form.ts'
import * as texts from '../texts/index.ts'
import { FactsField } from './facts-field.tsx'

/** The fields that a new evidence and an update have in common. */
export const ContentFields = ({ props }: { readonly props: (name: ContentField) => TextProps }) => (
  <>
    <TextField label={texts.fields.description} rows={3} {...props('description')} />
    <TextField label={texts.fields.summary} rows={2} {...props('summary')} />
    <FactsField {...props('meta')} />
  </>
)

type ContentField = 'description' | 'summary' | 'meta'
