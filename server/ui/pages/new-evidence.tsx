import { useState } from 'preact/hooks'
import type { Client } from '../../client/index.ts'
import { TextField } from '../components/fields.tsx'
import { Form } from '../components/form.tsx'
import { useForm, type TextProps } from '../components/use-form.ts'
import { Icon } from '../components/icon.tsx'
import { UploadProgress, useUpload } from '../components/upload.tsx'
import { useLoad } from '../components/use-load.ts'
import { FieldError, insteadOf, type Problems } from '../failure.ts'
import { withoutEmpty } from '../format.ts'
import { hrefOf, navigate, useUnsaved } from '../router.ts'
import { useSession } from '../session.ts'
import * as texts from '../texts/index.ts'
import { ContentFields } from './evidence-fields.tsx'
import { parseFacts, problemInFacts } from './facts-field.tsx'
import { FilePicker } from './file-picker.tsx'
import { forgetLeftList } from './use-evidences.ts'

const NEW_EVIDENCE = {
  categoryName: '',
  subcategoryName: '',
  externalId: '',
  name: '',
  owner: '',
  description: '',
  summary: '',
  meta: '',
}

/** Creates an evidence, and shows it. */
export const NewEvidencePage = () => (
  <div class="first">
    <div class="head">
      <h1>{texts.evidences.create}</h1>
    </div>
    <div class="card">
      <EvidenceForm
        onCreated={(externalId) => navigate(['evidences', externalId])}
        onCancel={() => history.back()}
        isWhole
      />
    </div>
  </div>
)

interface EvidenceFormProps {
  readonly onCreated: (externalId: string) => void
  readonly onCancel?: () => void
  /** With all fields. Otherwise only with those that are required. */
  readonly isWhole?: boolean
  readonly initial?: Partial<typeof NEW_EVIDENCE>
}

/** The form of a new evidence. */
export function EvidenceForm({ onCreated, onCancel, isWhole = false, initial }: EvidenceFormProps) {
  const t = texts.form
  const { client } = useSession()
  const form = useForm({ ...NEW_EVIDENCE, ...initial }, ['image', 'images'])
  const { percent, upload } = useUpload()
  const { values, props } = form
  const [files, setFiles] = useState<readonly File[]>([])
  const [isSent, setSent] = useState(false)
  useUnsaved(!isSent && (files.length > 0 || Object.keys(form.changed).length > 0))
  const create = async (): Promise<void> => {
    const { externalId, name, meta: facts, ...rest } = values
    const meta = parseFacts(facts)
    // The first photo is the one of lists.
    const image = files.find(({ type }) => type.startsWith('image/'))
    const images = files.filter((file) => file !== image)
    const evidence = {
      externalId,
      name,
      ...withoutEmpty(rest),
      ...(meta && { meta }),
      ...(image && { image }),
      ...(images.length > 0 && { images }),
    }
    const once = { idempotencyKey: form.keyOf(evidence) }
    await upload((options) => createNew(client, evidence, { ...once, ...(files.length > 0 && options) }))
    forgetLeftList(client)
    setSent(true)
    onCreated(externalId)
  }
  const check = (): Problems => ({ meta: problemInFacts(values.meta) })
  return (
    <Form form={form} action={create} check={check} submitText={t.submitCreate} onCancel={onCancel}>
      <FilePicker files={files} onChange={setFiles} problem={form.problemOf('image') ?? form.problemOf('images')} />
      <div class="pair">
        <TextField label={texts.fields.name} isRequired {...props('name')} />
        <TextField label={texts.fields.externalId} hint={t.idHint} isRequired {...props('externalId')} />
      </div>
      <CategoryFields category={props('categoryName')} subcategory={props('subcategoryName')} />
      {isWhole && (
        <>
          <TextField label={texts.fields.owner} {...props('owner')} />
          <details class="fold">
            <summary>
              {t.moreFacts}
              <Icon name="down" />
            </summary>
            <div class="stack">
              <ContentFields props={props} />
            </div>
          </details>
        </>
      )}
      <UploadProgress percent={percent} />
    </Form>
  )
}

/** Throws a `FieldError` that names the evidence which has the external id, and leads to it. */
async function createNew(client: Client, ...request: Parameters<Client['createEvidence']>): Promise<void> {
  const created = await client.createEvidence(...request).catch(insteadOf('EXTERNAL_ID_EXISTS', undefined))
  if (created !== undefined) return
  const [{ externalId }] = request
  const { object } = await client.getEvidence({ externalId, len: 1 })
  const to = hrefOf(['evidences', externalId])
  throw new FieldError({ externalId: <a href={to}>{texts.problems.takenBy(object.name)}</a> })
}

/** The names of a category and a subcategory, with those that exist as suggestions. */
function CategoryFields({ category, subcategory }: { readonly category: TextProps; readonly subcategory: TextProps }) {
  const t = texts.form
  const { client } = useSession()
  const { loaded } = useLoad((signal) => client.listCategories({}, { signal }), [client])
  const categories = loaded.state === 'done' ? loaded.value.categories : []
  const chosen = categories.find(({ name }) => name === category.value)
  const namesOf = (named: readonly { readonly name: string }[] = []): readonly string[] => named.map(({ name }) => name)
  return (
    <div class="pair">
      <TextField
        label={texts.evidences.category}
        hint={t.categoryHint}
        suggestions={namesOf(categories)}
        isRequired
        {...category}
      />
      <TextField
        label={texts.evidences.subcategory}
        hint={t.categoryHint}
        suggestions={namesOf(chosen?.subcategories)}
        isRequired
        {...subcategory}
      />
    </div>
  )
}
