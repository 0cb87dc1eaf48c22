import { useState } from 'preact/hooks'
import { EvidenceRegistryError, type Evidence } from '../../client/index.ts'
import { closeDialog, Dialog } from '../components/dialog.tsx'
import { TextField } from '../components/fields.tsx'
import { Form } from '../components/form.tsx'
import { useForm, type TextProps } from '../components/use-form.ts'
import { Notice } from '../components/notice.tsx'
import { toast } from '../components/toast.tsx'
import { UploadProgress, useUpload } from '../components/upload.tsx'
import { Facts } from '../components/values.tsx'
import { FieldError } from '../failure.ts'
import { withoutEmpty } from '../format.ts'
import { useSession } from '../session.ts'
import { texts } from '../texts.ts'
import { ContentFields, parseMeta } from './evidence-fields.tsx'
import { FilePicker } from './file-picker.tsx'
import { forgetLeftList } from './use-evidences.ts'

/** What a user records about an evidence. Each has its own fields. */
export type ChangeKind = 'stolen' | 'found' | 'repair' | 'transfer' | 'attach' | 'change'

interface ChangeProps {
  readonly kind: ChangeKind
  readonly evidence: Evidence
  /** The change is rejected if the evidence has a newer version by then. */
  readonly lastVersion: number
  readonly onDone: () => void
}

/** The texts of the form at first. A transfer begins without an owner, because it needs a new one. */
const initialTexts = ({ name, description = '', summary = '', meta }: Evidence) => ({
  name,
  owner: '',
  description,
  summary,
  meta: meta === undefined ? '' : JSON.stringify(meta, null, 2),
  updateActionDescription: '',
  updateActionPersona: '',
})

type ChangeTexts = ReturnType<typeof initialTexts>

/** `found` resets the flag that `stolen` sets. */
const TYPES = {
  stolen: { actionType: 'stolen' },
  found: { actionType: 'stolen', stolen: false },
  repair: { actionType: 'repair' },
  transfer: {},
  attach: {},
  change: {},
} as const

const { eventNames, updateNames } = texts.evidence
/** The event that each kind records. */
const RECORDED = { ...updateNames, transfer: eventNames.transfer, attach: updateNames.addfile } as const

/** What the request sets and clears. @throws `FieldError` for what the API would take for something else. */
function changeOf(kind: ChangeKind, evidence: Evidence, values: ChangeTexts) {
  const { meta: metaText, owner, updateActionDescription, updateActionPersona, ...content } = values
  const remarks = withoutEmpty({ updateActionDescription, updateActionPersona })
  if ((kind === 'stolen' || kind === 'found' || kind === 'repair') && updateActionDescription.trim() === '')
    throw new FieldError('updateActionDescription', texts.change.sayWhat)
  if (kind === 'transfer') {
    if (owner.trim() === '') throw new FieldError('owner', texts.form.newOwnerMissing)
    if (owner === evidence.owner) throw new FieldError('owner', texts.form.newOwnerUnchanged)
    return { owner, ...remarks }
  }
  if (kind !== 'change') return { ...remarks, ...TYPES[kind] }
  const initial = initialTexts(evidence)
  const meta = metaText === initial.meta ? undefined : parseMeta(metaText)
  const cleared = (['description', 'summary', 'meta'] as const).filter(
    (name) => initial[name] !== '' && values[name].trim() === '',
  )
  return {
    ...withoutEmpty(content),
    ...remarks,
    ...(meta && { meta }),
    ...(cleared.length > 0 && { clear: cleared }),
  }
}

const isConflict = (error: unknown): boolean =>
  error instanceof EvidenceRegistryError && error.code === 'VERSION_CONFLICT'

/** A small dialog with the fields of one verb. A conflict shows in it, and keeps what was typed. */
export function ChangeDialog({ kind, evidence, lastVersion, onDone }: ChangeProps) {
  const t = texts.change
  const { client } = useSession()
  const form = useForm(initialTexts(evidence), ['files'])
  const { percent, upload } = useUpload()
  const [files, setFiles] = useState<readonly File[]>([])
  const [version, setVersion] = useState(lastVersion)
  const { externalId } = evidence
  const { verb, title, intro } = t[kind]
  const record = async (): Promise<void> => {
    if (kind === 'attach' && files.length === 0) throw new FieldError('files', t.chooseFiles)
    const change = { externalId, ...changeOf(kind, evidence, form.values), ...(files.length > 0 && { files }) }
    await upload((options) => client.updateEvidence(change, { ifMatch: version, ...(files.length > 0 && options) }))
    forgetLeftList(client)
    closeDialog()
    onDone()
    const text = texts.evidence.isRecorded(RECORDED[kind])
    toast({ text, action: texts.evidence.show, run: () => showSection('history') })
  }
  const loadNewest = async (): Promise<void> => {
    const page = await client.getEvidence({ externalId, last: 1_000_000_000 })
    setVersion(page.lastVersion)
  }
  return (
    <Dialog title={title}>
      {intro !== '' && <Notice tone={kind === 'stolen' ? 'stolen' : 'info'}>{intro}</Notice>}
      {isConflict(form.error) && (
        <button type="button" onClick={() => void form.run(loadNewest)}>
          {t.loadNewest}
        </button>
      )}
      <Form form={form} action={record} submitText={verb} onCancel={closeDialog} isDanger={kind === 'stolen'}>
        {kind === 'transfer' && <OwnerFields presentOwner={evidence.owner} newOwner={form.props('owner')} />}
        {kind === 'change' && (
          <>
            <TextField label={texts.fields.name} isRequired {...form.props('name')} />
            <ContentFields props={form.props} />
          </>
        )}
        {kind !== 'attach' && (
          <TextField
            label={kind === 'stolen' ? t.whatHappened : t.remark}
            rows={3}
            isRequired={kind === 'stolen' || kind === 'found' || kind === 'repair'}
            {...form.props('updateActionDescription')}
          />
        )}
        <TextField label={texts.fields.personaName} {...form.props('updateActionPersona')} />
        {kind !== 'transfer' && kind !== 'change' && (
          <FilePicker files={files} onChange={setFiles} problem={form.problemOf('files')} />
        )}
        <UploadProgress percent={percent} />
      </Form>
    </Dialog>
  )
}

/** The fragment of the address is the page, so sections are shown by script. */
export const showSection = (id: string): void => document.getElementById(id)?.scrollIntoView()

interface OwnerFieldsProps {
  readonly presentOwner: string | undefined
  readonly newOwner: TextProps
}

/** The present owner is shown, because a transfer must name another one. */
function OwnerFields({ presentOwner, newOwner }: OwnerFieldsProps) {
  const t = texts.form
  return (
    <>
      <Facts of={[[t.presentOwner, <bdi>{presentOwner || texts.none}</bdi>]]} />
      <TextField label={t.newOwner} isRequired {...newOwner} />
    </>
  )
}
