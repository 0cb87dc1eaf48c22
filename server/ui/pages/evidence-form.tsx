import { useState } from 'preact/hooks'
import type { Evidence, RequestOptions } from '../../client/index.ts'
import { FileField, Form, SelectField, TextField, useForm, type FormState } from '../components/form.tsx'
import { UploadProgress } from '../components/upload-progress.tsx'
import { WhenLoaded } from '../components/notice.tsx'
import { useLoad } from '../components/use-load.ts'
import { Facts } from '../components/values.tsx'
import { FieldError } from '../failure.ts'
import { withoutEmpty } from '../format.ts'
import { hrefOf, navigate } from '../router.ts'
import { useSession } from '../session.ts'
import { texts } from '../texts.ts'
import { forgetLeftList } from './use-evidences.ts'

type FormProps = { readonly kind: 'create' } | { readonly kind: 'update' | 'transfer'; readonly externalId: string }

/** Creates, updates or transfers an evidence. Values are checked by the API, whose messages appear at the fields. */
export function EvidenceForm(props: FormProps) {
  if (props.kind === 'create') return <CreateForm />
  return <ChangePage kind={props.kind} externalId={props.externalId} />
}

const CREATE_FIELDS = [
  'categoryName',
  'subcategoryName',
  'externalId',
  'name',
  'owner',
  'description',
  'summary',
  'meta',
  'image',
  'images',
]
const CHANGE_FIELDS = [
  'owner',
  'name',
  'description',
  'summary',
  'meta',
  'eventDescription',
  'updateActionDescription',
  'updateActionPersona',
  'actionType',
  'files',
]

/** Texts of fields by name, and the properties of each field's control. */
function useTexts<Name extends string>(form: FormState, initial: Readonly<Record<Name, string>>) {
  const [values, setValues] = useState(initial)
  const props = (name: Name) => ({
    value: values[name],
    onChange: (value: string) => setValues((before) => ({ ...before, [name]: value })),
    problem: form.problemOf(name),
  })
  return { values, props }
}

/** @throws `FieldError` if the text is not a JSON object. The API checks the rest. */
function parseMeta(text: string): { readonly [name: string]: unknown } | undefined {
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
function useProgress() {
  const [percent, setPercent] = useState<number>()
  const options: RequestOptions = {
    onProgress: ({ sentBytes, totalBytes = 0 }) =>
      setPercent(totalBytes === 0 ? 0 : Math.floor((sentBytes / totalBytes) * 100)),
  }
  return { percent, options, end: () => setPercent(undefined) }
}

const IMAGE_TYPES = 'image/png,image/jpeg,image/gif,image/webp'

function CreateForm() {
  const t = texts.form
  const { client } = useSession()
  const form = useForm(CREATE_FIELDS)
  const progress = useProgress()
  const { loaded } = useLoad((signal) => client.listCategories({}, { signal }), [client])
  const { values, props } = useTexts(form, {
    categoryName: '',
    subcategoryName: '',
    externalId: '',
    name: '',
    owner: '',
    description: '',
    summary: '',
    meta: '',
  })
  const [image, setImage] = useState<File>()
  const [images, setImages] = useState<readonly File[]>([])
  const categories = loaded.state === 'done' ? loaded.value.categories : []
  const chosen = categories.find(({ name }) => name === values.categoryName)
  const create = async (): Promise<void> => {
    const { externalId, name, meta: metaText, ...rest } = values
    const meta = parseMeta(metaText)
    try {
      await client.createEvidence(
        {
          externalId,
          name,
          ...withoutEmpty(rest),
          ...(meta && { meta }),
          ...(image && { image }),
          ...(images.length > 0 && { images }),
        },
        image === undefined && images.length === 0 ? {} : progress.options,
      )
    } finally {
      progress.end()
    }
    forgetLeftList(client)
    navigate(['evidences', externalId])
  }
  return (
    <div class="narrow">
      <h1>{t.createTitle}</h1>
      <div class="card">
        <Form form={form} action={create} submitText={t.submitCreate} onCancel={() => history.back()}>
          <TextField
            label={t.categoryName}
            hint={t.categoryHint}
            suggestions={categories.map(({ name }) => name)}
            {...props('categoryName')}
          />
          <TextField
            label={t.subcategoryName}
            hint={t.categoryHint}
            suggestions={chosen?.subcategories.map(({ name }) => name) ?? []}
            {...props('subcategoryName')}
          />
          <TextField label={texts.evidences.externalId} {...props('externalId')} />
          <TextField label={texts.evidences.name} {...props('name')} />
          <TextField label={texts.evidences.owner} {...props('owner')} />
          <TextField label={texts.evidence.description} rows={3} {...props('description')} />
          <TextField label={texts.evidence.summary} rows={2} {...props('summary')} />
          <MetaField {...props('meta')} />
          <FileField
            label={t.image}
            accept={IMAGE_TYPES}
            onChange={([file]) => setImage(file)}
            problem={form.problemOf('image')}
          />
          <FileField label={t.files} isMultiple onChange={setImages} problem={form.problemOf('images')} />
          <UploadProgress percent={progress.percent} />
        </Form>
      </div>
    </div>
  )
}

function MetaField(props: { value: string; onChange: (value: string) => void; problem: string | undefined }) {
  return <TextField label={texts.form.meta} rows={4} {...props} />
}

interface ChangeProps {
  readonly kind: 'update' | 'transfer'
  readonly externalId: string
}

/** Reads only the data of an evidence and its newest version, without events. */
const AFTER_EVERY_VERSION = 1_000_000_000

function ChangePage({ kind, externalId }: ChangeProps) {
  const { client } = useSession()
  const page = useLoad(
    (signal) => client.getEvidence({ externalId, last: AFTER_EVERY_VERSION }, { signal }),
    [client, externalId],
  )
  return (
    <div class="narrow">
      <h1>{kind === 'update' ? texts.form.updateTitle(externalId) : texts.form.transferTitle(externalId)}</h1>
      <WhenLoaded of={page}>
        {({ object, lastVersion }) => (
          <ChangeForm key={lastVersion} kind={kind} evidence={object} lastVersion={lastVersion} />
        )}
      </WhenLoaded>
    </div>
  )
}

interface ChangeFormProps {
  readonly kind: ChangeProps['kind']
  readonly evidence: Evidence
  /** The change is rejected if the evidence has a newer version by then. */
  readonly lastVersion: number
}

/** @throws `FieldError` if the transfer has no new owner. The API would record its other texts as a note. */
function requireNewOwner(owner: string, presentOwner: string | undefined): void {
  if (owner.trim() === '') throw new FieldError('owner', texts.form.newOwnerMissing)
  if (owner === presentOwner) throw new FieldError('owner', texts.form.newOwnerUnchanged)
}

const sameText = (value: object | undefined, text: string): boolean =>
  text === (value === undefined ? '' : JSON.stringify(value, null, 2))

function ChangeForm({ kind, evidence, lastVersion }: ChangeFormProps) {
  const t = texts.form
  const { client } = useSession()
  const form = useForm(CHANGE_FIELDS)
  const progress = useProgress()
  const isTransfer = kind === 'transfer'
  const { externalId } = evidence
  const initial = {
    name: evidence.name,
    owner: '',
    description: evidence.description ?? '',
    summary: evidence.summary ?? '',
    meta: evidence.meta === undefined ? '' : JSON.stringify(evidence.meta, null, 2),
    eventDescription: '',
    updateActionDescription: '',
    updateActionPersona: '',
    actionType: '',
  }
  const { values, props } = useTexts(form, initial)
  const [files, setFiles] = useState<readonly File[]>([])

  const update = async (): Promise<void> => {
    if (isTransfer) requireNewOwner(values.owner, evidence.owner)
    const { meta: metaText, actionType, ...rest } = values
    const meta = sameText(evidence.meta, metaText) ? undefined : parseMeta(metaText)
    const cleared = (['description', 'summary', 'meta'] as const).filter(
      (name) => initial[name] !== '' && values[name].trim() === '',
    )
    try {
      await client.updateEvidence(
        {
          externalId,
          ...withoutEmpty(rest),
          ...(meta && { meta }),
          ...(cleared.length > 0 && { clear: cleared }),
          ...typeOf(actionType),
          ...(files.length > 0 && { files }),
        },
        { ifMatch: lastVersion, ...(files.length > 0 && progress.options) },
      )
    } finally {
      progress.end()
    }
    forgetLeftList(client)
    navigate(['evidences', externalId])
  }
  return (
    <div class="card">
      <Form
        form={form}
        action={update}
        submitText={isTransfer ? t.submitTransfer : t.submitUpdate}
        onCancel={() => navigate(['evidences', externalId])}
      >
        {isTransfer ? (
          <>
            <div class="field">
              <Facts of={[[t.presentOwner, <bdi>{evidence.owner || texts.none}</bdi>]]} />
            </div>
            <TextField label={t.newOwner} {...props('owner')} />
          </>
        ) : (
          <>
            <SelectField label={t.actionType} choices={Object.entries(t.actionTypes)} {...props('actionType')} />
            <TextField label={texts.evidences.name} {...props('name')} />
            <TextField label={texts.evidence.description} rows={3} {...props('description')} />
            <TextField label={texts.evidence.summary} rows={2} {...props('summary')} />
            <MetaField {...props('meta')} />
            <FileField label={t.files} isMultiple onChange={setFiles} problem={form.problemOf('files')} />
          </>
        )}
        <TextField label={t.updateActionPersona} {...props('updateActionPersona')} />
        <TextField label={t.updateActionDescription} rows={2} {...props('updateActionDescription')} />
        <TextField label={t.eventDescription} rows={2} {...props('eventDescription')} />
        <UploadProgress percent={progress.percent} />
      </Form>
      <p>
        <a href={hrefOf(['evidences', externalId])}>{externalId}</a>
      </p>
    </div>
  )
}

/** `found` resets the flag that `stolen` sets. */
function typeOf(choice: string) {
  if (choice === 'found') return { actionType: 'stolen', stolen: false } as const
  const types = ['stolen', 'repair', 'custom', 'change'] as const
  const actionType = types.find((type) => type === choice)
  return actionType === undefined ? {} : { actionType }
}
