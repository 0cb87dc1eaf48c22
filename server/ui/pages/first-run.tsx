import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { EvidenceProof, OwnSourceSystem } from '../../client/index.ts'
import { openDialog } from '../components/dialog.tsx'
import { TextField } from '../components/fields.tsx'
import { Form } from '../components/form.tsx'
import { useForm } from '../components/use-form.ts'
import { Icon } from '../components/icon.tsx'
import { LocalAddress } from '../components/local-address.tsx'
import { WhenLoaded } from '../components/notice.tsx'
import { useEvery, useLoad } from '../components/use-load.ts'
import { Time } from '../components/values.tsx'
import { publicUrl } from '../public-url.ts'
import { hrefOf, mayLeave } from '../router.ts'
import { isOperator, publicClient, signIn, useSession, type Session } from '../session.ts'
import * as texts from '../texts/index.ts'
import { EvidenceForm } from './new-evidence.tsx'
import { loadSampleData, SAMPLE_COMPANY } from './sample-data.ts'
import { NewKey, randomKey } from './source-system-dialogs.tsx'
import { useVouchers, type Vouchers } from './use-vouchers.ts'

const STORAGE_KEY = 'evidence-registry.first-run'

/** The first evidence of a company, if it was recorded in this tab. */
const readProgress = (companyId: string): string | undefined => {
  const [company, externalId] = (sessionStorage.getItem(STORAGE_KEY) ?? '').split('\n')
  return company === companyId ? externalId : undefined
}

/** The first steps replace the overview until the company has an evidence, and in this tab until all are done. */
export const isFirstRun = (companyId: string, evidenceCount: number): boolean =>
  evidenceCount === 0 || readProgress(companyId) !== undefined

interface FirstRunProps {
  readonly onHide: () => void
  readonly onSession: (session: Session) => void
  /** What the overview shows has changed. */
  readonly onChange: () => unknown
}

/** From an empty registry to the first verified proof, in four steps, each done in place. */
export function FirstRun({ onHide, onSession, onChange }: FirstRunProps) {
  const t = texts.firstRun
  const session = useSession()
  const [progress, setProgress] = useState(() => readProgress(session.companyId))
  const { loaded, reload } = useLoad((signal) => firstSystem(session, signal), [session.companyId])
  const system = loaded.state === 'done' ? loaded.value : undefined
  const proof = useLoad(async (signal) => readProof(session, progress, signal), [session, progress])
  const value = proof.loaded.state === 'done' ? proof.loaded.value : undefined
  const vouchers = useVouchers()
  const isProven = isComplete(value, vouchers)
  useEvery(2_000, proof.refresh, progress !== undefined && !isProven)
  const created = (externalId: string): void => {
    sessionStorage.setItem(STORAGE_KEY, `${session.companyId}\n${externalId}`)
    setProgress(externalId)
    onChange()
  }
  const hide = (): void => {
    sessionStorage.removeItem(STORAGE_KEY)
    onHide()
  }
  const at = system === undefined ? 1 : progress === undefined ? 2 : !isProven ? 3 : 4
  const evidenceId = value?.status === 'ok' ? value.evidenceId : undefined
  const keyText = system ? t.keyDone(system, session.companyId) : t.keyText
  const evidenceText = progress === undefined ? t.evidenceText : t.evidenceDone(progress)
  return (
    <div class="first stack">
      <h1>{t.title}</h1>
      <p class="muted">{t.intro}</p>
      <section class="card flush" aria-label={t.label}>
        <ol class="first-steps numbered">
          <Step number={1} at={at} title={t.key} text={keyText} time={system?.createdAt}>
            <CreateKey onDone={reload} />
          </Step>
          <Step number={2} at={at} title={t.evidence} text={evidenceText} time={value?.createdAt}>
            <EvidenceForm onCreated={created} initial={t.category} />
            {isOperator(session) && <SampleData onSession={onSession} />}
          </Step>
          <Step
            number={3}
            at={at}
            title={t.watch}
            text={t.watchText}
            always={<Stops at={at} proof={value} vouchers={vouchers} />}
          >
            <p role="status">{t.states[stateOf(value)]}</p>
          </Step>
          <Step number={4} at={at} title={t.verify} text={t.verifyText}>
            {evidenceId && <VerifyLinks evidenceId={evidenceId} externalId={progress ?? ''} onVerify={hide} />}
          </Step>
        </ol>
      </section>
      <p class="small muted">
        {t.program} <a href="../docs">{texts.nav.api}</a> ·{' '}
        <button class="link" onClick={() => mayLeave() && hide()}>
          {t.hide}
        </button>
      </p>
    </div>
  )
}

interface VerifyLinksProps {
  readonly evidenceId: string
  readonly externalId: string
  readonly onVerify: () => void
}

/** What a stranger would open. */
const VerifyLinks = ({ evidenceId, externalId, onVerify }: VerifyLinksProps) => (
  <>
    <LocalAddress url={publicUrl()} />
    <div class="row">
      <a class="button primary" href={hrefOf(['verify', evidenceId])} onClick={onVerify}>
        {texts.firstRun.verifyNow}
      </a>
      <a class="button" href={hrefOf(['certificate', evidenceId, externalId])}>
        {texts.evidence.certificate}
      </a>
    </div>
  </>
)

/** A key of the company. A user who is signed in with one of its keys has it. */
const firstSystem = async (
  session: Session,
  signal: AbortSignal,
): Promise<(OwnSourceSystem & { readonly createdAt?: string }) | undefined> =>
  isOperator(session)
    ? session.client.listSourceSystems({}, { signal }).then(
        ({ sourceSystems }) => sourceSystems[0],
        () => undefined,
      )
    : session.system

const STATES = ['recorded', 'sealed', 'stamped', 'anchored'] as const

interface StopsProps {
  readonly at: number
  readonly proof: EvidenceProof | undefined
  readonly vouchers: Vouchers | undefined
}

/** How far the first evidence is on its way; before the third step, the way. */
function Stops({ at, proof, vouchers }: StopsProps) {
  const t = texts.firstRun.when
  const next = at < 3 ? -1 : STATES.indexOf(stateOf(proof)) + 1
  const { tsa, merkle } = proof?.status === 'ok' ? proof : {}
  const details = {
    recorded: proof && <Time at={proof.createdAt} isAge />,
    sealed: merkle && texts.evidence.leaf(merkle.leafIndex),
    stamped: tsa ? <Time at={tsa.genTime} isAge /> : vouchers?.hasAuthority === false && t.never,
    anchored: merkle?.anchor ? <Time at={merkle.anchor.blockTime} isAge /> : vouchers?.hasChain === false && t.never,
  }
  return (
    <>
      <ol class="pipeline">
        {STATES.map((state, i) => (
          <li key={state} class={i < next ? undefined : i === next ? 'now' : 'idle'}>
            <b>{texts.overview[state]}</b>
            <span class="small muted">{details[state] || t[state]}</span>
          </li>
        ))}
      </ol>
      {proof?.status === 'ok' && <p class="small muted">{proof.assurance.note}</p>}
    </>
  )
}

async function readProof({ client }: Session, externalId: string | undefined, signal: AbortSignal) {
  if (externalId === undefined) return undefined
  const { object } = await client.getEvidence({ externalId, last: 1 }, { signal })
  return client.verifyEvidence({ evidenceId: object.id }, { signal })
}

/** Whether nothing more will vouch for the evidence: it is anchored, or stamped as far as that is set up. */
function isComplete(proof: EvidenceProof | undefined, vouchers: Vouchers | undefined): boolean {
  if (proof?.status !== 'ok') return false
  if (vouchers === undefined || vouchers.hasChain) return proof.merkle.sendStatus === 'C'
  return !vouchers.hasAuthority || proof.tsa !== undefined
}

const stateOf = (proof: EvidenceProof | undefined): keyof typeof texts.firstRun.states => {
  if (proof?.status !== 'ok') return 'recorded'
  if (proof.merkle.sendStatus === 'C') return 'anchored'
  return proof.tsa === undefined ? 'sealed' : 'stamped'
}

interface StepProps {
  readonly number: number
  /** The step that is open. */
  readonly at: number
  readonly title: string
  readonly text: string
  /** When it was done. */
  readonly time?: string | undefined
  /** Shown in every state. */
  readonly always?: ComponentChildren
  readonly children: ComponentChildren
}

/** A step: ticked, open, or still to come. */
const Step = ({ number, at, title, text, time, always, children }: StepProps) => (
  <li class={number < at ? 'done' : undefined} {...(number === at && { 'aria-current': 'step' as const })}>
    <b class="sign small">{number < at ? <Icon name="tick" /> : number}</b>
    <div class="stack">
      <div>
        <h2>{title}</h2>
        <p class="muted">
          {text} {time && <Time at={time} isAge />}
        </p>
      </div>
      {always}
      {number === at && children}
    </div>
  </li>
)

/** Creates the company's first source system, and shows its key. */
function CreateKey({ onDone }: { readonly onDone: () => unknown }) {
  const t = texts.firstRun
  const { client } = useSession()
  const form = useForm({ name: t.keyName })
  const [apiKey] = useState(randomKey)
  const create = async (): Promise<void> => {
    const system = { name: form.values.name, apiKey, permissions: 'U' } as const
    await client.createSourceSystem(system, { idempotencyKey: form.keyOf(system) })
    openDialog(<NewKey apiKey={apiKey} onDone={onDone} />)
  }
  return (
    <Form form={form} action={create} submitText={t.createKey}>
      <TextField label={texts.fields.name} isRequired {...form.props('name')} />
    </Form>
  )
}

/** Only on a registry with the local ledger and no other company. What is recorded stays in the log. */
function SampleData({ onSession }: Pick<FirstRunProps, 'onSession'>) {
  const t = texts.firstRun
  const session = useSession()
  const form = useForm({})
  const [isAsked, setAsked] = useState(false)
  const [done, setDone] = useState(0)
  const allowed = useLoad(
    async (signal) => {
      const [policy, { companies }] = await Promise.all([
        publicClient.getPolicy({}, { signal }),
        session.client.listCompanies({}, { signal }),
      ])
      const isLocal = policy.chains.every(({ type }) => type === 'local')
      return isLocal && companies.every(({ id, evidenceCount }) => id === SAMPLE_COMPANY || evidenceCount === 0)
    },
    [session],
  )
  const load = async (): Promise<void> => {
    if (!mayLeave()) return
    const sample = await signIn({ companyId: SAMPLE_COMPANY, apiKey: session.apiKey })
    await loadSampleData(sample.client, setDone)
    onSession(await signIn(sample))
  }
  return (
    <WhenLoaded of={allowed}>
      {(isAllowed) =>
        isAllowed &&
        (isAsked ? (
          <Form form={form} action={load} submitText={t.loadSamples} onCancel={() => setAsked(false)}>
            <p>{t.samplesStay}</p>
            {form.isBusy && <progress max={12} value={done} aria-label={t.loadSamples} />}
          </Form>
        ) : (
          <button class="plain" onClick={() => setAsked(true)}>
            {t.samples}
          </button>
        ))
      }
    </WhenLoaded>
  )
}
