import { useState } from 'preact/hooks'
import { EvidenceRegistryError, type Evidence, type EvidenceEvent } from '../../client/index.ts'
import { closeDialog, Dialog, useClose, useReadAgain } from '../components/dialog.tsx'
import { TextField } from '../components/fields.tsx'
import { Form } from '../components/form.tsx'
import { useForm, type FormTexts, type TextProps } from '../components/use-form.ts'
import { Notice } from '../components/notice.tsx'
import { toast } from '../components/toast.tsx'
import { UploadProgress, useUpload } from '../components/upload.tsx'
import { Facts } from '../components/values.tsx'
import { committedValue, statusOf } from '../event-changes.ts'
import { eventName } from '../event-names.ts'
import type { Problems } from '../failure.ts'
import { withoutEmpty } from '../format.ts'
import { useSession } from '../session.ts'
import * as texts from '../texts/index.ts'
import { ContentFields } from './evidence-fields.tsx'
import { parseFacts, problemInFacts } from './facts-field.tsx'
import { FilePicker } from './file-picker.tsx'
import { forgetLeftList } from './use-evidences.ts'

/** What a user records about an evidence. Each has its own fields. */
export type ChangeKind = 'stolen' | 'found' | 'repair' | 'transfer' | 'attach' | 'change'

interface ChangeProps {
  readonly kind: ChangeKind
  readonly evidence: Evidence
  /** The change is rejected if the evidence has a newer version by then. */
  readonly lastVersion: number
  /** Reads again what the page shows. */
  readonly onDone: () => unknown
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

/**
 * What the request sets and clears: of the name and the facts only what the user changed, so that nothing reverts what
 * somebody else wrote.
 */
function changeOf(kind: ChangeKind, evidence: Evidence, { values, changed }: FormTexts<keyof ChangeTexts>) {
  const { owner, updateActionDescription, updateActionPersona } = values
  const remarks = withoutEmpty({ updateActionDescription, updateActionPersona })
  if (kind === 'transfer') return { owner, ...remarks }
  if (kind !== 'change') return { ...remarks, ...TYPES[kind] }
  const initial = initialTexts(evidence)
  const isCleared = (name: 'description' | 'summary' | 'meta'): boolean =>
    initial[name] !== '' && changed[name]?.trim() === ''
  const cleared = (['description', 'summary', 'meta'] as const).filter(isCleared)
  const { name, description, summary } = changed
  const meta = parseFacts(changed.meta ?? '')
  return {
    ...withoutEmpty({ name }),
    ...(!isCleared('description') && withoutEmpty({ description })),
    ...(!isCleared('summary') && withoutEmpty({ summary })),
    ...remarks,
    ...(meta && { meta }),
    ...(cleared.length > 0 && { clear: cleared }),
  }
}

const isConflict = (error: unknown): boolean =>
  error instanceof EvidenceRegistryError && error.code === 'VERSION_CONFLICT'

/** What was recorded since the form was opened. */
interface Meanwhile {
  readonly events: readonly EvidenceEvent[]
  /** One of them may be a request of this form whose response was lost. */
  readonly isLost: boolean
}

/** The form over the evidence as it was when the dialog was opened, and after a conflict over the newest. */
function useNewest(opened: Evidence, lastVersion: number) {
  const { client } = useSession()
  const [{ evidence, version }, setNewest] = useState({ evidence: opened, version: lastVersion })
  const [meanwhile, setMeanwhile] = useState<Meanwhile>()
  const form = useForm(initialTexts(opened), ['files'])
  /** Returns whether there is a newer version. */
  const loadNewest = async (): Promise<boolean> => {
    const isLost = form.lostKey() !== undefined
    const page = await client.getEvidence({ externalId: opened.externalId, last: version, disclose: true })
    if (page.lastVersion === version) return false
    setNewest({ evidence: page.object, version: page.lastVersion })
    setMeanwhile({ events: page.events, isLost })
    form.restart(initialTexts(page.object))
    return true
  }
  /** If another user changed the same field, the newest is shown beside the text of the user. */
  const props = (name: keyof ChangeTexts): TextProps => {
    const newest = initialTexts(evidence)[name]
    const isNew = form.changed[name] !== undefined && newest !== initialTexts(opened)[name]
    // Facts are JSON, which people need not read.
    const shown = name === 'meta' ? newest.replaceAll(/["{}]/g, '') : newest
    return { ...form.props(name), ...(isNew && { hint: texts.change.newest(shown) }) }
  }
  return { evidence, version, meanwhile, form, props, loadNewest }
}

/** A small dialog with the fields of one verb. A conflict shows in it, and keeps what was typed. */
export function ChangeDialog({ kind, evidence: opened, lastVersion, onDone }: ChangeProps) {
  const t = texts.change
  const { client } = useSession()
  const { evidence, version, meanwhile, form, props, loadNewest } = useNewest(opened, lastVersion)
  useReadAgain(form, onDone)
  const close = useClose()
  const { percent, upload } = useUpload()
  const [files, setFiles] = useState<readonly File[]>([])
  const { externalId } = evidence
  const { verb, title, intro } = t[kind]
  const record = async (): Promise<void> => {
    const change = { externalId, ...changeOf(kind, evidence, form), ...(files.length > 0 && { files }) }
    const lostKey = form.lostKey()
    const idempotencyKey = form.keyOf(change)
    // If the request that was lost is recorded, the user decides again what to send.
    if (lostKey !== undefined && lostKey !== idempotencyKey && (await loadNewest())) return void (await onDone())
    const known = { ifMatch: version, idempotencyKey }
    await upload((options) => client.updateEvidence(change, { ...known, ...(files.length > 0 && options) }))
    forgetLeftList(client)
    // Another change must know the version of this one.
    await onDone()
    close()
    const text = texts.evidence.isRecorded(RECORDED[kind])
    toast({ text, action: texts.evidence.show, run: () => showSection('history') })
  }
  /** What the API would take for something else, or for nothing. */
  const check = (): Problems => ({
    meta: problemInFacts(form.values.meta),
    files: kind === 'attach' && files.length === 0 && t.chooseFiles,
    ...(kind === 'transfer' && form.values.owner === evidence.owner && { owner: texts.form.newOwnerUnchanged }),
    ...(kind === 'change' && Object.keys(form.changed).length === 0 && { name: t.nothingChanged }),
  })
  return (
    <Dialog title={title}>
      {intro !== '' && <Notice tone={kind === 'stolen' ? 'stolen' : 'info'}>{intro}</Notice>}
      {isConflict(form.error) && (
        <button type="button" onClick={() => void form.run(() => loadNewest().then(onDone))}>
          {t.loadNewest}
        </button>
      )}
      {meanwhile && <RecordedMeanwhile {...meanwhile} />}
      <Form
        form={form}
        action={record}
        check={check}
        submitText={verb}
        onCancel={closeDialog}
        isDanger={kind === 'stolen'}
      >
        <ChangeFields kind={kind} evidence={evidence} props={props} />
        {kind !== 'transfer' && kind !== 'change' && (
          <FilePicker files={files} onChange={setFiles} problem={form.problemOf('files')} />
        )}
        <UploadProgress percent={percent} />
      </Form>
    </Dialog>
  )
}

interface ChangeFieldsProps extends Pick<ChangeProps, 'kind' | 'evidence'> {
  readonly props: (name: keyof ChangeTexts) => TextProps
}

/** The texts of a verb. The present owner is shown, because a transfer must name another one. */
const ChangeFields = ({ kind, evidence, props }: ChangeFieldsProps) => (
  <>
    {kind === 'transfer' && (
      <>
        <Facts of={[[texts.form.presentOwner, <bdi>{evidence.owner || texts.none}</bdi>]]} />
        <TextField label={texts.form.newOwner} isRequired {...props('owner')} />
      </>
    )}
    {kind === 'change' && (
      <>
        <TextField label={texts.fields.name} isRequired {...props('name')} />
        <ContentFields props={props} />
      </>
    )}
    {kind !== 'attach' && (
      <TextField
        label={kind === 'stolen' ? texts.change.whatHappened : texts.change.remark}
        rows={3}
        isRequired={kind === 'stolen' || kind === 'found' || kind === 'repair'}
        {...props('updateActionDescription')}
      />
    )}
    <TextField label={texts.fields.personaName} hint={texts.change.personHint} {...props('updateActionPersona')} />
  </>
)

/** What a user must know before the form is sent again. */
const RecordedMeanwhile = ({ events, isLost }: Meanwhile) => (
  <Notice tone="pending">
    {isLost ? texts.change.perhapsYours : texts.change.meanwhile}
    <ul>
      {events.map((event) => (
        <li key={event.version}>
          <bdi>{inWords(event)}</bdi>
        </li>
      ))}
    </ul>
  </Notice>
)

function inWords(event: EvidenceEvent): string {
  const { type, updateType, updateDescription, eventDescription } = event
  const owner = type === 'transfer' ? committedValue(event, 'owner') : undefined
  const to = typeof owner === 'string' ? texts.certificate.newOwner(owner) : undefined
  return [eventName(type, updateType, statusOf(event)), to, updateDescription, eventDescription]
    .filter(Boolean)
    .join(' · ')
}

/** The fragment of the address is the page, so sections are shown by script. */
export const showSection = (id: string): void => document.getElementById(id)?.scrollIntoView()
