import { useState } from 'preact/hooks'
import type { Client, ErasureInput, Evidence } from '../../client/index.ts'
import { FormDialog } from '../components/dialog.tsx'
import { CheckList, SelectField, TextField, type CheckChoice } from '../components/fields.tsx'
import { WhenLoaded } from '../components/notice.tsx'
import { toast } from '../components/toast.tsx'
import { useForm, type FormTexts } from '../components/use-form.ts'
import { useLoad } from '../components/use-load.ts'
import { fieldName } from '../event-names.ts'
import type { Problems } from '../failure.ts'
import { withoutEmpty } from '../format.ts'
import { navigate } from '../router.ts'
import { useSession } from '../session.ts'
import * as texts from '../texts/index.ts'
import { readHistory, valuesOf } from './share-choices.ts'
import { forgetLeftList } from './use-evidences.ts'

interface EraseDialogProps {
  readonly evidence: Evidence
  /** What is erased is what the page shows: a newer version ends it. */
  readonly lastVersion: number
  readonly onDone: () => unknown
}

/** The choice beside fields and files: all of them, and the external id. */
const CONTENT = 'content'

/** Erases fields and files of an evidence, or its content, for good. Its external id is the confirmation. */
export function EraseDialog({ evidence: { id, name, externalId }, lastVersion, onDone }: EraseDialogProps) {
  const t = texts.erasure
  const { client } = useSession()
  const form = useForm({ ...WHY, externalId: '' })
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const content = useLoad((signal) => readErasable(client, externalId, signal), [client, externalId])
  const erase = async (): Promise<void> => {
    const fields = [...chosen].filter(isField)
    const files = [...chosen].filter((each) => !isField(each))
    const parts = [...(fields.length > 0 ? [{ fields }] : []), ...(files.length > 0 ? [{ files }] : [])]
    for (const part of chosen.has(CONTENT) ? [{ content: true as const }] : parts) {
      const request = { externalId, ...whyOf(form.values), ...part }
      // A field is erased in all events, so there must be none that the page did not show. A file is named by its id.
      const { receipt, disk } = await client.eraseEvidence(request, 'files' in part ? {} : { ifMatch: lastVersion })
      if (receipt) toast({ text: t.done[disk], action: t.receipt, run: () => navigate(['log', receipt.txId]) })
    }
    forgetLeftList(client)
  }
  const check = (): Problems => ({
    externalId: chosen.size === 0 ? t.chooseOne : form.values.externalId !== externalId && t.otherId,
  })
  return (
    <FormDialog
      title={t.title(name || externalId)}
      intro={t.intro}
      form={form}
      action={erase}
      check={check}
      submitText={t.verb}
      isDanger
      onDone={() => (chosen.has(CONTENT) && externalId !== id ? navigate(['evidences', id]) : onDone())}
    >
      <WhenLoaded of={content}>
        {(parts) => (
          <CheckList
            legend={t.what}
            choices={[...parts, { value: CONTENT, label: t.content(externalId, id) }]}
            chosen={chosen}
            onChange={setChosen}
          />
        )}
      </WhenLoaded>
      <WhyFields {...form} />
      <TextField label={t.confirm(externalId)} isRequired {...form.props('externalId')} />
    </FormDialog>
  )
}

type Field = NonNullable<ErasureInput['fields']>[number]

/** Those that the API erases by name, in the order of the list. The others are ids, or say what happened. */
const FIELDS: Readonly<Record<Field, true>> = {
  name: true,
  owner: true,
  description: true,
  summary: true,
  meta: true,
  updateDescription: true,
  personaName: true,
  eventDescription: true,
}
const isField = (name: string): name is Field => Object.hasOwn(FIELDS, name)

/** The fields and files of an evidence that can be erased. */
async function readErasable(client: Client, externalId: string, signal: AbortSignal): Promise<readonly CheckChoice[]> {
  const { events } = await readHistory(client, externalId, signal)
  const { dt } = await client.listEvidenceFiles({ externalId }, { signal })
  const countOf = (field: string): number =>
    events.filter(({ disclosure }) => disclosure?.fields[field] !== undefined).length
  return [
    ...Object.keys(FIELDS)
      .filter(countOf)
      .map((field) => {
        return { value: field, label: texts.erasure.field(fieldName(field), valuesOf(events, [field]), countOf(field)) }
      }),
    ...dt.map(({ overlayId, name }) => ({ value: overlayId, label: `${texts.fields.files}: ${name}` })),
  ]
}

/** Why something is erased: the texts of a form. */
export const WHY = { reason: 'request', note: '' }
const isReason = (name: string): name is ErasureInput['reason'] => Object.hasOwn(texts.erasure.reasons, name)

export const WhyFields = ({ props }: Pick<FormTexts<keyof typeof WHY>, 'props'>) => (
  <>
    <SelectField label={texts.erasure.reason} choices={Object.entries(texts.erasure.reasons)} {...props('reason')} />
    <TextField label={texts.evidence.updateNames.custom} hint={texts.erasure.noteHint} rows={2} {...props('note')} />
  </>
)

/** What the texts mean to the API. */
export const whyOf = ({ reason, note }: typeof WHY) => ({
  reason: isReason(reason) ? reason : 'other',
  ...withoutEmpty({ note }),
})
