import { useState } from 'preact/hooks'
import type { Evidence } from '../../client/index.ts'
import { FileField, Form, SelectField, TextField, useForm, type TextProps } from '../components/form.tsx'
import { WhenLoaded } from '../components/notice.tsx'
import { UploadProgress, useUpload } from '../components/upload.tsx'
import { useLoad } from '../components/use-load.ts'
import { Facts } from '../components/values.tsx'
import { FieldError } from '../failure.ts'
import { withoutEmpty } from '../format.ts'
import { hrefOf, navigate } from '../router.ts'
import { useSession } from '../session.ts'
import { texts } from '../texts.ts'
import { ContentFields, parseMeta } from './evidence-fields.tsx'
import { forgetLeftList } from './use-evidences.ts'

interface ChangeProps {
  readonly kind: 'update' | 'transfer'
  readonly externalId: string
}

/** Reads only the data of an evidence and its newest version, without events. */
const AFTER_EVERY_VERSION = 1_000_000_000

/** Updates or transfers an evidence. Values are checked by the API, whose messages appear at the fields. */
export function ChangeEvidencePage({ kind, externalId }: ChangeProps) {
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

/** The texts of the form at first. A transfer begins without an owner, because it needs a new one. */
const initialTexts = ({ name, description = '', summary = '', meta }: Evidence) => ({
  name,
  owner: '',
  description,
  summary,
  meta: meta === undefined ? '' : JSON.stringify(meta, null, 2),
  eventDescription: '',
  updateActionDescription: '',
  updateActionPersona: '',
  actionType: '',
})

type ChangeTexts = ReturnType<typeof initialTexts>

/** @throws `FieldError` if the transfer has no new owner. The API would record its other texts as a note. */
function requireNewOwner(owner: string, presentOwner: string | undefined): void {
  if (owner.trim() === '') throw new FieldError('owner', texts.form.newOwnerMissing)
  if (owner === presentOwner) throw new FieldError('owner', texts.form.newOwnerUnchanged)
}

/** What the request sets and clears. @throws `FieldError` if the metadata is not a JSON object. */
function changeOf(evidence: Evidence, values: ChangeTexts) {
  const initial = initialTexts(evidence)
  const { meta: metaText, actionType, ...rest } = values
  const meta = metaText === initial.meta ? undefined : parseMeta(metaText)
  const cleared = (['description', 'summary', 'meta'] as const).filter(
    (name) => initial[name] !== '' && values[name].trim() === '',
  )
  return {
    ...withoutEmpty(rest),
    ...(meta && { meta }),
    ...(cleared.length > 0 && { clear: cleared }),
    ...typeOf(actionType),
  }
}

/** The form of an update or a transfer. A conflict shows in it, and keeps what was typed. */
function ChangeForm({ kind, evidence, lastVersion }: ChangeFormProps) {
  const t = texts.form
  const { client } = useSession()
  const form = useForm(initialTexts(evidence), ['files'])
  const { percent, upload } = useUpload()
  const { values, props } = form
  const [files, setFiles] = useState<readonly File[]>([])
  const isTransfer = kind === 'transfer'
  const { externalId } = evidence
  const update = async (): Promise<void> => {
    if (isTransfer) requireNewOwner(values.owner, evidence.owner)
    const change = { externalId, ...changeOf(evidence, values), ...(files.length > 0 && { files }) }
    await upload((options) => client.updateEvidence(change, { ifMatch: lastVersion, ...(files.length > 0 && options) }))
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
          <OwnerFields presentOwner={evidence.owner} newOwner={props('owner')} />
        ) : (
          <>
            <SelectField label={t.actionType} choices={Object.entries(t.actionTypes)} {...props('actionType')} />
            <TextField label={texts.evidences.name} {...props('name')} />
            <ContentFields props={props} />
            <FileField label={t.files} isMultiple onChange={setFiles} problem={form.problemOf('files')} />
          </>
        )}
        <TextField label={t.updateActionPersona} {...props('updateActionPersona')} />
        <TextField label={t.updateActionDescription} rows={2} {...props('updateActionDescription')} />
        <TextField label={t.eventDescription} rows={2} {...props('eventDescription')} />
        <UploadProgress percent={percent} />
      </Form>
      <p>
        <a href={hrefOf(['evidences', externalId])}>{externalId}</a>
      </p>
    </div>
  )
}

interface OwnerFieldsProps {
  readonly presentOwner: string | undefined
  readonly newOwner: TextProps
}

/** The present owner is shown, because a transfer must name another one. */
function OwnerFields({ presentOwner, newOwner }: OwnerFieldsProps) {
  const t = texts.form
  return (
    <>
      <div class="field">
        <Facts of={[[t.presentOwner, <bdi>{presentOwner || texts.none}</bdi>]]} />
      </div>
      <TextField label={t.newOwner} {...newOwner} />
    </>
  )
}

/** `found` resets the flag that `stolen` sets. */
function typeOf(choice: string) {
  if (choice === 'found') return { actionType: 'stolen', stolen: false } as const
  const types = ['stolen', 'repair', 'custom', 'change'] as const
  const actionType = types.find((type) => type === choice)
  return actionType === undefined ? {} : { actionType }
}
