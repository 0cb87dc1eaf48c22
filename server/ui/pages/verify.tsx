import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { BundleCheck } from '../../../core/verify/index.ts'
import { EvidenceRegistryError, type Client, type EvidenceCandidate } from '../../client/index.ts'
import { FileField, TextField } from '../components/fields.tsx'
import { Form } from '../components/form.tsx'
import { useForm } from '../components/use-form.ts'
import { Icon } from '../components/icon.tsx'
import { Failure, Notice } from '../components/notice.tsx'
import { bitmapOf } from '../components/thumb.tsx'
import { Time } from '../components/values.tsx'
import { hrefOf, navigate } from '../router.ts'
import type { Session } from '../session.ts'
import * as texts from '../texts/index.ts'
import { isOfStranger, useTrust } from '../trust.ts'
import { CheckYourself, type SavedReport } from './check-yourself.tsx'
import { DropZone } from './drop-zone.tsx'
import { ForgetTrust, KeysChanged } from './keys-changed.tsx'
import { readDocument, readText, whyNoProof } from './read-text.ts'
import { FileVerdicts, type DroppedFile } from './file-verdicts.tsx'
import { Report } from './report.tsx'
import { Verdict } from './verdict.tsx'
import { Details } from './verdict-details.tsx'
import {
  BUNDLE_CHECKS,
  hashFile,
  isBundle,
  shortFormOf,
  type Outcome,
  type ShortForm,
  type Verify,
  type VerifyRequest,
} from './verify-document.ts'

const PHOTO_WIDTH = 176

/** A policy, and where it is from. Only a file was chosen by the user. */
interface PolicySource {
  readonly text: string
  readonly from: 'service' | 'report' | 'file'
}

/** What is verified, and what it must be about. */
interface Proof extends Pick<VerifyRequest, 'text' | 'expect'> {
  /** This page asked its own registry for it. */
  readonly isFetched?: boolean
}

/** A bundle, or the short form of one. */
interface DroppedProof {
  readonly name: string
  readonly text: string
  readonly short?: ShortForm
}

interface VerifyPageProps {
  readonly verify: Verify
  /** For the policy of the server and for public proofs. `undefined` in a saved page, which has no server. */
  readonly client?: Client
  readonly evidenceId?: string | undefined
  /** Of a user who is signed in. */
  readonly session?: Session | undefined
  /** Of a saved page that is a report. */
  readonly report?: SavedReport | undefined
}

/** What is verified, and what was found. */
function useVerification({ verify, client, evidenceId, report }: VerifyPageProps) {
  const [proof, setProof] = useState<Proof | undefined>(report && { text: report.bundle })
  const [short, setShort] = useState<ShortForm>()
  /** The names of the proofs that were dropped together. The first is the one that is verified. */
  const [names, setNames] = useState<readonly string[]>([])
  const [files, setFiles] = useState<readonly DroppedFile[]>([])
  const [policy, setPolicy] = usePolicy(client, report)
  const [check, setCheck] = useState<BundleCheck>('document')
  const [outcome, setOutcome] = useState<Outcome>()
  const [error, setError] = useState<unknown>()

  useEffect(() => {
    if (client === undefined || evidenceId === undefined) return
    setError(undefined)
    // A proof that was dropped meanwhile stays.
    client
      .verifyEvidence({ evidenceId, format: 'bundle' })
      .then((bundle) => setProof((known) => known ?? { text: JSON.stringify(bundle), isFetched: true }), setError)
  }, [evidenceId])
  useEffect(() => {
    if (proof === undefined) return undefined
    const needed = new AbortController()
    const ifNeeded =
      <T,>(set: (value: T) => void) =>
      (value: T): void => {
        if (!needed.signal.aborted) set(value)
      }
    setOutcome(undefined)
    setError(undefined)
    const hashed = files.map(({ name, sha256, size }) => ({ name, sha256, size }))
    const request = { ...proof, policyText: policy?.text, isPinned: policy?.from === 'file', files: hashed }
    verify(request, ifNeeded(setCheck), needed.signal).then(ifNeeded(setOutcome), ifNeeded(setError))
    return () => needed.abort()
  }, [proof, policy, files])

  const refuse = (reason: unknown): void => {
    setProof(undefined)
    setOutcome(undefined)
    setNames([])
    setError(reason)
  }
  const addFiles = async (dropped: readonly File[]): Promise<void> => {
    setError(undefined)
    const { proofs, contents } = await sort(dropped)
    const [first] = proofs
    if (first !== undefined) {
      setProof(first.short === undefined ? { text: first.text } : await bundleOf(first.short, client))
      setShort(first.short)
      setNames(proofs.map(({ name }) => name))
    }
    setFiles((known) => [...known, ...contents])
  }
  const leaveOut = (i: number): void => setFiles((known) => known.filter((_, at) => at !== i))
  return { proof, short, names, files, leaveOut, policy, setPolicy, check, outcome, error, setError, refuse, addFiles }
}

/** The bundles, then their short forms; and the contents. */
async function sort(dropped: readonly File[]) {
  const contents: DroppedFile[] = []
  const bundles: DroppedProof[] = []
  const shorts: DroppedProof[] = []
  for (const file of dropped) {
    const { name } = file
    const text = await readDocument(file)
    const short = isBundle(text) ? undefined : shortFormOf(text)
    if (short !== undefined) shorts.push({ name, text, short })
    else if (isBundle(text)) bundles.push({ name, text })
    else {
      const why = await whyNoProof(file, text)
      contents.push({ ...(await hashFile(file)), photo: await bitmapOf(file, PHOTO_WIDTH), whyNoProof: why })
    }
  }
  return { proofs: [...bundles, ...shorts], contents }
}

/** Verifies a proof in the browser: a dropped bundle with files, or the public proof of an evidence. Needs no key. */
export function VerifyPage(props: VerifyPageProps) {
  const t = texts.verify
  const { client, evidenceId, session, report } = props
  const { proof, short, names, files, leaveOut, policy, setPolicy, check, outcome, error, setError, refuse, addFiles } =
    useVerification(props)
  const choose = (text: string): void => setPolicy({ text, from: 'file' })
  const isBusy = proof !== undefined && error === undefined && outcome === undefined
  const trust = useTrust()
  if (proof?.isFetched && outcome && isOfStranger(trust, outcome))
    return <KeysChanged trust={trust} origin={outcome.claims?.origin} text={proof.text} />
  return (
    <>
      {outcome && <Verdict outcome={outcome} isFetched={proof?.isFetched} />}
      <div class="verdict-page">
        {outcome && <FileVerdicts outcome={outcome} files={files} leaveOut={leaveOut} />}
        {outcome ? <Report outcome={outcome} client={client} session={session} /> : <h1>{t.title}</h1>}
        {error !== undefined && <VerifyFailure error={error} />}
        {short && <Notice tone="pending">{proof === undefined ? t.shortForm : t.shortFormFetched}</Notice>}
        {names.length > 1 && <Notice tone="pending">{t.oneProof(names)}</Notice>}
        {proof === undefined && short === undefined && files.length > 0 && <NeedProof files={files} />}
        {isBusy && <Working check={check} />}
        {outcome && <PolicyField policy={policy} onChange={choose} onError={setError} />}
        {outcome && <Details outcome={outcome} title={report && texts.report.custody} isOpen={report !== undefined} />}
        {report && <CheckYourself bundle={report.bundle} />}
        <details class="fold no-print" open={outcome === undefined}>
          <summary>
            <Icon name="search" />
            {outcome ? t.another : t.first}
            <Icon name="down" />
          </summary>
          <div class="stack">
            <p class="small muted">{t.intro}</p>
            <DropZone onFiles={(dropped) => void addFiles(dropped).catch(refuse)} />
            {client && <LinkForm evidenceId={evidenceId} />}
            {outcome === undefined && <PolicyField policy={policy} onChange={choose} onError={setError} />}
          </div>
        </details>
        {trust && <ForgetTrust />}
        {client && <SaveLink />}
      </div>
    </>
  )
}

/** What was dropped is no proof, and what it is if it may have been meant as one. */
const NeedProof = ({ files }: { readonly files: readonly DroppedFile[] }) => (
  <Notice tone="pending">
    {files.map(
      ({ name, whyNoProof: why }, i) =>
        why !== undefined && (
          <p key={i}>
            <b>
              <bdi>{name}</bdi>
            </b>{' '}
            {texts.verify.noDocument(why)}
          </p>
        ),
    )}
    {texts.verify.needProof}
  </Notice>
)

/** The check under way: a large bundle takes seconds. */
const Working = ({ check }: { readonly check: BundleCheck }) => (
  <p role="status">
    {texts.verify.working} {texts.verify.stepNames[check]}
    <progress max={BUNDLE_CHECKS.length} value={BUNDLE_CHECKS.indexOf(check)} aria-label={texts.verify.working} />
  </p>
)

/** The bundle of a proof in JSON, from the server. `undefined` if it cannot be had: the server decides. */
async function bundleOf({ evidenceId, txId, fileId }: ShortForm, client?: Client): Promise<Proof | undefined> {
  if (client === undefined || evidenceId === undefined) return undefined
  const request = { evidenceId, format: 'bundle' } as const
  const bundle =
    fileId === undefined
      ? await client.verifyEvidence({ ...request, txId })
      : await client.verifyFile({ ...request, fileId })
  // The strict parser also accepts the text that is made from parsed JSON.
  return { text: JSON.stringify(bundle), isFetched: true, expect: { txId, ...(fileId !== undefined && { fileId }) } }
}

/** The policy of the server or of the report, unless the user has chosen a file. */
function usePolicy(client: Client | undefined, report: SavedReport | undefined) {
  const [policy, setPolicy] = useState<PolicySource | undefined>(report && { text: report.policy, from: 'report' })
  useEffect(() => {
    client?.getPolicy().then(
      (value) =>
        setPolicy((known) => (known?.from === 'file' ? known : { text: JSON.stringify(value), from: 'service' })),
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
    <Form form={form} action={open} submitText={t.fetch}>
      <TextField label={texts.fields.evidence} hint={t.linkHint} {...form.props('id')} />
    </Form>
  )
}

/** The same page as one file, for the time when the server is gone. `children`: what else can be kept. */
export const SaveLink = ({ children }: { readonly children?: ComponentChildren }) => (
  <details class="fold no-print">
    <summary>
      <Icon name="keep" />
      {texts.verify.keep}
      <Icon name="down" />
    </summary>
    <div>
      <a href="verify.html" download="verify.html">
        {texts.verify.savePage}
      </a>
      {children}
    </div>
  </details>
)

interface PolicyFieldProps {
  readonly policy: PolicySource | undefined
  readonly onChange: (text: string) => void
  readonly onError: (error: unknown) => void
}

/** The policy that the result depends on, and where it came from. */
function PolicyField({ policy, onChange, onError }: PolicyFieldProps) {
  const t = texts.verify
  const read = (file: File | undefined): void => {
    if (file !== undefined) void readText(file, 'policy').then(onChange, onError)
  }
  return (
    <div class="policy no-print">
      <FileField
        label={t.policy}
        hint={['file', 'report'].includes(policy?.from ?? '') ? undefined : t.policyHint}
        accept=".json,.txt"
        onChange={([file]) => read(file)}
      />
      <p class="small">{t.policyFrom[policy?.from ?? 'document']}</p>
    </div>
  )
}

/** An external id that several companies use is not an error of the user: the candidates are shown. */
function VerifyFailure({ error }: { readonly error: unknown }) {
  const candidates = error instanceof EvidenceRegistryError ? candidatesOf(error.body) : []
  if (candidates.length === 0) return <Failure error={error} />
  return (
    <Notice tone="pending">
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
