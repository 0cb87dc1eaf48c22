import { useEffect, useState } from 'preact/hooks'
import { EvidenceRegistryError, type Client, type EvidenceCandidate } from '../../client/index.ts'
import { FileField, Form, TextField, useForm } from '../components/form.tsx'
import { Failure, Notice, type Tone } from '../components/notice.tsx'
import { Badge, Facts, Time } from '../components/values.tsx'
import { hrefOf, navigate } from '../router.ts'
import { texts } from '../texts.ts'
import { DropZone } from './drop-zone.tsx'
import {
  hashFile,
  isBundle,
  shortFormOf,
  verifyDocument,
  type HashedFile,
  type Outcome,
  type ShortForm,
  type Step,
  type VerifyRequest,
} from './verify-document.ts'

/** A policy, and whether the user chose it. */
interface PolicySource {
  readonly text: string
  readonly isOwn: boolean
}

/** What is verified, and what it must be about. */
type Proof = Pick<VerifyRequest, 'text' | 'expect'>

interface VerifyPageProps {
  /** For the policy of the server and for public proofs. `undefined` in a saved page, which has no server. */
  readonly client?: Client
  readonly evidenceId?: string | undefined
}

/** Verifies a proof in the browser: a dropped bundle with files, or the public proof of an evidence. Needs no key. */
export function VerifyPage({ client, evidenceId }: VerifyPageProps) {
  const t = texts.verify
  const [proof, setProof] = useState<Proof>()
  const [short, setShort] = useState<ShortForm>()
  const [files, setFiles] = useState<readonly HashedFile[]>([])
  const [policy, setPolicy] = usePolicy(client)
  const [outcome, setOutcome] = useState<Outcome>()
  const [error, setError] = useState<unknown>()

  useEffect(() => {
    if (client === undefined || evidenceId === undefined) return
    setError(undefined)
    // A proof that was dropped meanwhile stays.
    client
      .verifyEvidence({ evidenceId, format: 'bundle' })
      .then((bundle) => setProof((known) => known ?? { text: JSON.stringify(bundle) }), setError)
  }, [evidenceId])
  useEffect(() => {
    if (proof === undefined) return undefined
    let isNeeded = true
    setOutcome(undefined)
    setError(undefined)
    verifyDocument({ ...proof, policyText: policy?.text, isPinned: policy?.isOwn === true, files }).then(
      (result) => isNeeded && setOutcome(result),
      setError,
    )
    return () => {
      isNeeded = false
    }
  }, [proof, policy, files])

  const addFiles = async (dropped: readonly File[]): Promise<void> => {
    setError(undefined)
    const contents: HashedFile[] = []
    for (const file of dropped) {
      const text = file.name.endsWith('.json') ? await file.text() : ''
      const document = isBundle(text) ? undefined : shortFormOf(text)
      if (isBundle(text)) setProof({ text })
      else if (document === undefined) contents.push(await hashFile(file))
      else setProof(await bundleOf(document, client))
      if (isBundle(text) || document !== undefined) setShort(document)
    }
    setFiles((known) => [...known, ...contents])
  }
  return (
    <>
      <h1>{t.title}</h1>
      <p>{t.intro}</p>
      <DropZone onFiles={(dropped) => void addFiles(dropped).catch(setError)} />
      {client && <LinkForm evidenceId={evidenceId} />}
      {client && <SaveLink />}
      <PolicyField policy={policy} onChange={(text) => setPolicy({ text, isOwn: true })} />
      {error !== undefined && <VerifyFailure error={error} />}
      {short && <Notice tone="warn">{proof === undefined ? t.shortForm : t.shortFormFetched}</Notice>}
      {proof === undefined && short === undefined && files.length > 0 && <Notice tone="warn">{t.needProof}</Notice>}
      {proof !== undefined && error === undefined && outcome === undefined && <p role="status">{t.working}</p>}
      {outcome && <OutcomeView outcome={outcome} />}
    </>
  )
}

/** The bundle of a proof in JSON, from the server. `undefined` if it cannot be had: the server decides. */
async function bundleOf({ evidenceId, txId, fileId }: ShortForm, client?: Client): Promise<Proof | undefined> {
  if (client === undefined || evidenceId === undefined) return undefined
  const request = { evidenceId, format: 'bundle' } as const
  const bundle =
    fileId === undefined
      ? await client.verifyEvidence({ ...request, txId })
      : await client.verifyFile({ ...request, fileId })
  // The strict parser also accepts the text that is made from parsed JSON.
  return { text: JSON.stringify(bundle), expect: { txId, ...(fileId !== undefined && { fileId }) } }
}

/** The policy of the server, unless the user has chosen a file. */
function usePolicy(client: Client | undefined) {
  const [policy, setPolicy] = useState<PolicySource>()
  useEffect(() => {
    client?.getPolicy().then(
      (value) => setPolicy((known) => (known?.isOwn ? known : { text: JSON.stringify(value), isOwn: false })),
      () => undefined,
    )
  }, [])
  return [policy, setPolicy] as const
}

/** Fetches the public proof of an evidence by its id. */
function LinkForm({ evidenceId }: { readonly evidenceId: string | undefined }) {
  const t = texts.verify
  const form = useForm({ id: evidenceId ?? '' })
  const open = async (): Promise<void> => {
    const id = form.values.id.trim()
    if (id !== '') navigate(['verify', id])
  }
  return (
    <div class="card no-print">
      <Form form={form} action={open} submitText={t.fetch}>
        <TextField label={t.link} hint={t.linkHint} {...form.props('id')} />
      </Form>
    </div>
  )
}

/** The same page as one file, for the time when the server is gone. */
const SaveLink = () => (
  <p class="no-print">
    <a href="verify.html" download="verify.html">
      {texts.verify.savePage}
    </a>
  </p>
)

interface PolicyFieldProps {
  readonly policy: PolicySource | undefined
  readonly onChange: (text: string) => void
}

/** The policy that the result depends on, and where it came from. */
function PolicyField({ policy, onChange }: PolicyFieldProps) {
  const t = texts.verify
  const read = (file: File | undefined): void => {
    if (file !== undefined) void file.text().then(onChange)
  }
  return (
    <div class="card no-print">
      <FileField label={t.policy} hint={t.policyHint} accept=".json,.txt" onChange={([file]) => read(file)} />
      <Badge>
        {policy === undefined ? t.policyFrom.document : policy.isOwn ? t.policyFrom.file : t.policyFrom.service}
      </Badge>
    </div>
  )
}

/** An external id that several companies use is not an error of the user: the candidates are shown. */
function VerifyFailure({ error }: { readonly error: unknown }) {
  const candidates = error instanceof EvidenceRegistryError ? candidatesOf(error.body) : []
  if (candidates.length === 0) return <Failure error={error} />
  return (
    <Notice tone="warn">
      {texts.verify.ambiguous}
      <ul>
        {candidates.map(({ id, createdAt }) => (
          <li key={id}>
            <a href={hrefOf(['verify', id])}>{id}</a> <Time at={createdAt} />
          </li>
        ))}
      </ul>
    </Notice>
  )
}

const candidatesOf = (body: unknown): readonly EvidenceCandidate[] =>
  typeof body === 'object' && body !== null && 'candidates' in body && Array.isArray(body.candidates)
    ? body.candidates
    : []

/** Only `refuted` is wrong. What is not known is grey. */
const toneOf = (state: Outcome['state']): Tone | undefined =>
  state === 'proven' ? 'good' : state === 'refuted' ? 'bad' : undefined

/** The result: the verdict first, then each check, then what is proven. */
function OutcomeView({ outcome }: { readonly outcome: Outcome }) {
  const { state, reason, advice, steps, groups, unchecked } = outcome
  const t = texts.verify
  return (
    <section aria-label={t.result}>
      <h2>{t.result}</h2>
      <Notice tone={toneOf(state)}>
        <strong>{t.states[state]}</strong>
        {reason !== undefined && <div>{reason}</div>}
        {advice !== undefined && <div>{advice}</div>}
      </Notice>
      <div class="card">
        <h2>{t.steps}</h2>
        <ol class="steps">
          {steps.map((step, i) => (
            <StepItem key={i} step={step} />
          ))}
        </ol>
      </div>
      {groups.length > 0 && (
        <div class="card">
          <h2>{t.claims}</h2>
          {groups.map(({ title, facts }) => (
            <section key={title}>
              {groups.length > 1 && <h3>{title}</h3>}
              <Facts of={facts.map(([name, value]) => [<bdi>{name}</bdi>, <bdi>{value}</bdi>])} />
            </section>
          ))}
          <p class="muted">{t.notProven}</p>
        </div>
      )}
      {unchecked.length > 0 && (
        <div class="card">
          <h2>{t.unchecked}</h2>
          <Facts of={unchecked.map(({ what, why }) => [what, why])} />
        </div>
      )}
    </section>
  )
}

const STEP_TONES = { ok: 'good', failed: 'bad', skipped: undefined } as const

/** One check with its result. */
function StepItem({ step: { name, state, detail } }: { readonly step: Step }) {
  const t = texts.verify
  return (
    <li>
      <span>
        <Badge tone={STEP_TONES[state]}>{t.stepStates[state]}</Badge>
      </span>
      <span>
        {t.stepNames[name]}
        {detail && <div class="muted">{detail}</div>}
      </span>
    </li>
  )
}
