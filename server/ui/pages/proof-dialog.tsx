import { useState } from 'preact/hooks'
import type { Client } from '../../client/index.ts'
import { closeDialog, Dialog } from '../components/dialog.tsx'
import { CheckField, CheckList, type CheckChoice } from '../components/fields.tsx'
import { Form } from '../components/form.tsx'
import { useForm } from '../components/use-form.ts'
import { WhenLoaded } from '../components/notice.tsx'
import { useLoad } from '../components/use-load.ts'
import { changesOf } from '../event-changes.ts'
import { fieldName } from '../event-names.ts'
import { saveFile } from '../format.ts'
import { useSession } from '../session.ts'
import * as texts from '../texts/index.ts'
import { readHistory } from './share-choices.ts'

interface ProofDialogProps {
  readonly externalId: string
}

/** What a bundle can disclose. Fields by their names, files by their ids. */
interface Disclosable {
  readonly fields: readonly CheckChoice[]
  readonly files: readonly CheckChoice[]
}

/** Disclosed by its own choice, because it also shows later versions. */
const HISTORY_FIELD = 'slotKey'

/** Downloads the proof bundle, with a choice of what its reader may see. */
export function ProofDialog({ externalId }: ProofDialogProps) {
  const { client } = useSession()
  const content = useLoad((signal) => readDisclosable(client, externalId, signal), [client, externalId])
  return (
    <Dialog title={texts.evidence.proof}>
      <p>{texts.proof.intro}</p>
      <WhenLoaded of={content}>{(choices) => <ProofForm externalId={externalId} choices={choices} />}</WhenLoaded>
    </Dialog>
  )
}

/** What the history has, so that the user can choose what of it to show. */
async function readDisclosable(client: Client, externalId: string, signal: AbortSignal): Promise<Disclosable> {
  const { events } = await readHistory(client, externalId, signal)
  const names = new Set(events.flatMap(({ disclosure }) => Object.keys(disclosure?.fields ?? {})))
  names.delete(HISTORY_FIELD)
  const files = changesOf(events)
    .flatMap((event) => event.files)
    .filter(({ kind }) => kind === 'attached')
  return {
    fields: [...names].map((name) => ({ value: name, label: fieldName(name) })),
    files: files.map(({ fileId, name }) => ({ value: fileId, label: name ?? fileId })),
  }
}

interface ProofFormProps extends ProofDialogProps {
  readonly choices: Disclosable
}

/** The choice, and the download. */
function ProofForm({ externalId, choices }: ProofFormProps) {
  const t = texts.proof
  const { client } = useSession()
  const form = useForm({})
  const [fields, setFields] = useState<ReadonlySet<string>>(new Set(choices.fields.map(({ value }) => value)))
  const [files, setFiles] = useState<ReadonlySet<string>>(new Set(choices.files.map(({ value }) => value)))
  const [hasHistory, setHistory] = useState(false)
  const download = async (): Promise<void> => {
    const response = await client.getBundle({
      externalId,
      fields: selectionOf(choices.fields, fields),
      files: selectionOf(choices.files, files),
      history: hasHistory,
    })
    const [, name = ''] = /filename="(.*)"/.exec(response.headers.get('content-disposition') ?? '') ?? []
    saveFile(await response.blob(), name)
    closeDialog()
  }
  return (
    <Form form={form} action={download} submitText={texts.evidence.download} onCancel={closeDialog}>
      <CheckList legend={t.fields} choices={choices.fields} chosen={fields} onChange={setFields} />
      {choices.files.length > 0 && (
        <CheckList legend={t.files} choices={choices.files} chosen={files} onChange={setFiles} />
      )}
      <CheckField label={t.history} hint={t.historyHint} isChecked={hasHistory} onChange={setHistory} />
    </Form>
  )
}

/** A choice as the API reads it. */
function selectionOf(choices: readonly CheckChoice[], chosen: ReadonlySet<string>): string {
  if (chosen.size === choices.length) return 'all'
  return chosen.size === 0 ? 'none' : [...chosen].join(',')
}
