import { useState } from 'preact/hooks'
import type { SubjectErasure } from '../../client/index.ts'
import { closeDialog, Dialog } from '../components/dialog.tsx'
import { TextField } from '../components/fields.tsx'
import { Form } from '../components/form.tsx'
import { WhenLoaded } from '../components/notice.tsx'
import { useForm } from '../components/use-form.ts'
import { useEvery, useLoad } from '../components/use-load.ts'
import { fieldName } from '../event-names.ts'
import { hrefOf } from '../router.ts'
import { useSession } from '../session.ts'
import * as texts from '../texts/index.ts'
import { WHY, WhyFields, whyOf } from './erase-dialog.tsx'

const PAUSE_MS = 1_000

/** Looks for a person in all records, shows the places, and then erases them. `onDone`: one of the two has begun. */
export function ErasePerson({ onDone }: { readonly onDone: () => void }) {
  const t = texts.erasure.person
  const { client } = useSession()
  const form = useForm({ subject: '', ...WHY })
  const { subject } = form.values
  const [asked, setAsked] = useState<{ readonly id: string; readonly subject: string }>()
  const read = async (signal: AbortSignal) => {
    const job = asked && (await client.getErasure({ erasureId: asked.id }, { signal }))
    return job?.kind === 'subject' ? job : undefined
  }
  const erasure = useLoad(read, [client, asked])
  const job = erasure.loaded.state === 'done' ? erasure.loaded.value : undefined
  useEvery(PAUSE_MS, erasure.refresh, job !== undefined && isRunning(job))
  const isFound = job?.state === 'done' && job.dryRun && job.found.length > 0 && asked?.subject === subject
  const ask = async (): Promise<void> => {
    const { id } = await client.eraseSubject({ subject, ...whyOf(form.values), dryRun: !isFound })
    setAsked({ id, subject })
    onDone()
  }
  const verb = isFound ? texts.erasure.verb : t.look
  return (
    <Dialog title={t.title}>
      <p>{t.intro}</p>
      <Form form={form} action={ask} submitText={verb} isDanger={isFound} onCancel={closeDialog}>
        <TextField label={t.subject} isRequired {...form.props('subject')} />
        <WhyFields {...form} />
        <WhenLoaded of={erasure}>
          {(shown) =>
            shown && (
              <div class="small" role="status">
                <PersonState of={shown} />
                <ul class="rows">
                  {shown.found.map(({ evidenceId, externalId, version, field }) => (
                    <li key={`${evidenceId} ${version} ${field}`}>
                      <a href={hrefOf(['evidences', externalId])}>{externalId}</a>, {texts.evidence.version(version)}:{' '}
                      {fieldName(field)}
                    </li>
                  ))}
                </ul>
              </div>
            )
          }
        </WhenLoaded>
      </Form>
    </Dialog>
  )
}

/** Whether the erasure of a person goes on. */
export const isRunning = ({ state }: SubjectErasure): boolean => state === 'asked' || state === 'running'

/** How far the erasure of a person is, or the search for the places. */
export function PersonState({ of: { state, dryRun, progress, erased } }: { readonly of: SubjectErasure }) {
  const t = texts.erasure.person
  const { done, total } = progress
  return (
    <>
      {dryRun ? t.search : t.title}: {t.states[state]} {!dryRun && t.erased(erased)}
      {state === 'running' && <progress max={total} value={done} aria-label={t.title} />}
    </>
  )
}
