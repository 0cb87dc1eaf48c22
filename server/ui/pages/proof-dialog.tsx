import { useState } from 'preact/hooks'
import { Dialog } from '../components/dialog.tsx'
import { CheckField, Form, SelectField, TextField, useForm } from '../components/form.tsx'
import { saveFile } from '../format.ts'
import { useSession } from '../session.ts'
import { texts } from '../texts.ts'

interface ProofDialogProps {
  readonly externalId: string
  readonly onClose: () => void
}

type Choice = 'all' | 'none' | 'choose'
const isChoice = (value: string): value is Choice => ['all', 'none', 'choose'].includes(value)

/** Downloads the proof bundle, with a choice of what its reader may see. */
export function ProofDialog({ externalId, onClose }: ProofDialogProps) {
  const t = texts.proof
  const { client } = useSession()
  const form = useForm(['fields', 'files'])
  const [fields, setFields] = useState<Choice>('all')
  const [names, setNames] = useState('')
  const [files, setFiles] = useState<Choice>('all')
  const [hasHistory, setHistory] = useState(false)
  const download = async (): Promise<void> => {
    const response = await client.getBundle({
      externalId,
      fields: fields === 'choose' ? names.replaceAll(/\s/g, '') : fields,
      files,
      history: hasHistory,
    })
    saveFile(await response.blob(), `${externalId.replaceAll(/[^\w.-]/g, '_')}.evidence.json`)
    onClose()
  }
  const choices = [['all', t.all] as const, ['none', t.none] as const]
  return (
    <Dialog title={t.title} onClose={onClose}>
      <p>{t.intro}</p>
      <Form form={form} action={download} submitText={t.download} onCancel={onClose}>
        <SelectField
          label={t.fields}
          value={fields}
          onChange={(value) => isChoice(value) && setFields(value)}
          choices={[...choices, ['choose', t.choose]]}
          problem={fields === 'choose' ? undefined : form.problemOf('fields')}
        />
        {fields === 'choose' && (
          <TextField
            label={t.choose}
            hint="externalId, name, owner, description, summary, meta"
            value={names}
            onChange={setNames}
            problem={form.problemOf('fields')}
          />
        )}
        <SelectField
          label={t.files}
          value={files}
          onChange={(value) => isChoice(value) && setFiles(value)}
          choices={choices}
          problem={form.problemOf('files')}
        />
        <CheckField label={t.history} isChecked={hasHistory} onChange={setHistory} />
      </Form>
    </Dialog>
  )
}
