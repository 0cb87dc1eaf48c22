import { useRef, useState } from 'preact/hooks'
import { factOf, FIELDS, META, REQUIRED_FIELDS, targetsOf, type Targets } from '../../import/columns.ts'
import { newestId, sendRows, type ImportRow } from '../../import/send.ts'
import { FileField } from '../components/fields.tsx'
import { Icon } from '../components/icon.tsx'
import { Failure, WhenLoaded } from '../components/notice.tsx'
import { Table } from '../components/table.tsx'
import { useForm } from '../components/use-form.ts'
import { useLoad } from '../components/use-load.ts'
import { messageOf } from '../failure.ts'
import { formatBytes, formatDuration } from '../format.ts'
import { hrefOf } from '../router.ts'
import { useSession } from '../session.ts'
import * as texts from '../texts/index.ts'
import { DropArea } from './drop-zone.tsx'
import { FaultList, saveCsv } from './import-faults.tsx'
import { checkRows, countExisting, LABELS, readImport, type Fault, type ImportFile } from './import-rows.ts'
import { forgetLeftList } from './use-evidences.ts'

/** Where an import is. */
interface Stage {
  /** The file, its columns, the check, the import: 0 to 3. */
  readonly step: number
  readonly file?: ImportFile
  readonly targets?: Targets
  readonly rows?: readonly ImportRow[]
  /** How many rows are left out. */
  readonly faults?: number
}

interface StepProps {
  readonly file: ImportFile
  readonly go: (stage: Stage) => void
}

/** The button that led to a step is gone, so the keyboard continues at the step. */
const focus = (section: HTMLElement | null): void => section?.focus()

/** Creates evidences from a file: choose it, say what its columns become, check its rows, send them. */
export function ImportPage() {
  const t = texts.import
  const [{ step, file, targets = [], rows, faults = 0 }, setStage] = useState<Stage>({ step: 0 })
  return (
    <div class="first">
      <div class="head">
        <div>
          <h1>{t.title}</h1>
          <p class="small muted">{t.intro}</p>
        </div>
      </div>
      <section key={step} class="card stack" ref={step > 0 ? focus : null} tabIndex={-1} aria-label={t.steps[step]}>
        <Steps at={step} />
        {file && (
          <div class="between">
            <h2>
              <bdi>{file.name}</bdi>
            </h2>
            <span class="small muted">{t.size(file.rows.length, formatBytes(file.bytes))}</span>
          </div>
        )}
        {step === 0 && <FileStep go={setStage} />}
        {file && step === 1 && <ColumnsStep file={file} go={setStage} />}
        {file && step === 2 && <CheckStep file={file} targets={targets} go={setStage} />}
        {rows && <RunStep rows={rows} faults={faults} go={setStage} />}
      </section>
    </div>
  )
}

/** The way through an import, and where the user is on it. */
const Steps = ({ at }: { readonly at: number }) => (
  <ol class="row wide-gap small numbered" aria-label={texts.import.way}>
    {texts.import.steps.map((name, i) => (
      <li key={name} class={`flex ${i < at ? 'done' : ''}`} {...(i === at && { 'aria-current': 'step' as const })}>
        <b class="sign">{i < at ? <Icon name="tick" /> : i + 1}</b>
        {name}
      </li>
    ))}
  </ol>
)

/** The choice of a file, by drag and drop or by a dialog. */
function FileStep({ go }: Pick<StepProps, 'go'>) {
  const t = texts.import
  const { run, problemOf } = useForm({}, ['file'])
  const problem = problemOf('file')
  const read = async (file: File): Promise<void> => {
    const chosen = await readImport(file)
    go({ step: chosen.columns.length === 0 ? 2 : 1, file: chosen })
  }
  const begin = ([file]: readonly File[]): void => void (file && run(() => read(file)))
  // A new input after a problem: a browser tells nothing if the same file is chosen again.
  return (
    <DropArea onFiles={begin}>
      <FileField
        key={problem}
        label={t.choose}
        hint={t.chooseHint}
        problem={problem}
        accept=".csv,.tsv,.jsonl,.ndjson"
        onChange={begin}
      />
      <button class="plain" onClick={() => saveCsv(t.example, 'example.csv')}>
        <Icon name="keep" />
        {t.saveExample}
      </button>
    </DropArea>
  )
}

/** What each column becomes. Those that have the name of a field are chosen already, the others are left out. */
function ColumnsStep({ file, go }: StepProps) {
  const t = texts.import
  const { columns, rows } = file
  const [targets, setTargets] = useState(() => targetsOf(columns))
  // A field has one column: the one that had it before is left out.
  const choose = (at: number, target: string): void =>
    setTargets(targets.map((each, i) => (i === at ? target || undefined : each === target ? undefined : each)))
  const missing = REQUIRED_FIELDS.filter((field) => !targets.includes(field)).map((field) => LABELS[field])
  const fields = FIELDS.map((field) => [field, LABELS[field]] as const)
  return (
    <>
      <Table
        label={t.columns}
        isCard={false}
        hasRowNames
        items={columns.map((name, i) => ({ name, i, samples: samplesOf(rows, i) }))}
        keyOf={({ i }) => String(i)}
        columns={[
          {
            title: t.column,
            cell: ({ name, samples }) => (
              <>
                <bdi>{name}</bdi>
                <p class="id">{samples}</p>
              </>
            ),
          },
          {
            title: t.target,
            cell: ({ name, i }) => (
              <select
                aria-label={t.becomes(name)}
                value={targets[i] ?? ''}
                onChange={({ currentTarget }) => choose(i, currentTarget.value)}
              >
                {[['', t.leaveOut], ...fields, [factOf(name), t.fact(factOf(name).slice(META.length))]].map(
                  ([value, text]) => (
                    <option key={value} value={value}>
                      {text}
                    </option>
                  ),
                )}
              </select>
            ),
          },
        ]}
      />
      <p class="problem" role="status">
        {missing.length > 0 && t.noColumn(missing)}
      </p>
      <div class="row actions">
        <button onClick={() => go({ step: 0 })}>{t.back}</button>
        <button class="primary" disabled={missing.length > 0} onClick={() => go({ step: 2, file, targets })}>
          {t.check(rows.length)}
        </button>
      </div>
    </>
  )
}

/** The first values of a column, of those in the first rows. */
const samplesOf = (rows: ImportFile['rows'], i: number): string =>
  rows
    .slice(0, 100)
    .flatMap(({ cells }) => cells[i] || [])
    .slice(0, 2)
    .map((cell) => cell.slice(0, 100))
    .join(', ')

/** The rows that can be sent, and those that cannot. Nothing was sent yet. */
function CheckStep({ file, targets, go }: StepProps & { readonly targets: Targets }) {
  const t = texts.import
  const { client } = useSession()
  const check = useLoad(
    async (signal) => {
      const checked = checkRows(file, targets, await client.listCategories({}, { signal }))
      return { ...checked, existing: await countExisting(checked.ready, client, signal) }
    },
    [file],
  )
  return (
    <WhenLoaded of={check}>
      {({ ready, faults, existing }) => (
        <>
          <div role="status">
            <h2>{t.ready(ready.length, file.rows.length)}</h2>
          </div>
          <div class="grid choices">
            <Tally count={ready.length - (existing ?? 0)} text={existing === undefined ? t.perhapsNew : t.areNew} />
            {existing !== undefined && <Tally count={existing} text={t.areThere} />}
            <Tally count={faults.length} text={t.haveFault} isAlarm={faults.length > 0} />
          </div>
          <FaultList faults={faults} />
          <div class="row actions">
            <button onClick={() => go({ step: 0 })}>{t.back}</button>
            <button
              class="primary"
              disabled={ready.length === 0}
              onClick={() => go({ step: 3, file, rows: ready, faults: faults.length })}
            >
              {t.start(ready.length - (existing ?? 0))}
            </button>
          </div>
        </>
      )}
    </WhenLoaded>
  )
}

interface TallyProps {
  readonly count: number
  readonly text: string
  readonly isAlarm?: boolean
}

/** How many rows are so. */
const Tally = ({ count, text, isAlarm = false }: TallyProps) => (
  <div class="answer">
    <b class={isAlarm ? 'is-stolen' : undefined}>{count.toLocaleString()}</b>
    <span class="small muted">{text}</span>
  </div>
)

const NOTHING_DONE = { created: 0, present: 0 }

interface RunStepProps extends Pick<StepProps, 'go'> {
  readonly rows: readonly ImportRow[]
  /** How many others are left out. */
  readonly faults: number
}

/** Sends the rows, and says what became of them. */
function RunStep({ rows, faults, go }: RunStepProps) {
  const t = texts.import
  const { client } = useSession()
  const first = useRef<string>(undefined)
  const [counts, setCounts] = useState(NOTHING_DONE)
  const [refused, setRefused] = useState<readonly Fault[]>([])
  const [attempt, setAttempt] = useState(0)
  const send = async (signal: AbortSignal): Promise<number> => {
    const beganAt = performance.now()
    setCounts(NOTHING_DONE)
    setRefused([])
    // Of the first attempt: what that one created counts as created.
    first.current ??= await newestId(client)
    await sendRows(rows, {
      client,
      since: first.current,
      request: { signal },
      onDone: (count, outcome) => setCounts((before) => ({ ...before, [outcome]: before[outcome] + count })),
      onRefused: ({ number, evidence: { externalId } }, error) => {
        const reason = error.code === 'EXTERNAL_ID_EXISTS' ? t.faults.taken : messageOf(error)
        setRefused((before) => [...before, { number, externalId, reason }])
      },
    })
    return performance.now() - beganAt
  }
  const { loaded } = useLoad((signal) => send(signal).finally(() => forgetLeftList(client)), [attempt])
  const { created, present } = counts
  const done = created + present + refused.length
  const state = t.progress(done, rows.length)
  return (
    <>
      {loaded.state === 'failed' && <Failure error={loaded.error} retry={() => setAttempt(attempt + 1)} />}
      {loaded.state === 'done' ? (
        <div class="flex answer" role="status">
          <Icon name="tick" />
          <p>
            <b>{t.created(created)}</b>
            {t.others({ present, faults, refused: refused.length }, formatDuration(loaded.value))}
          </p>
        </div>
      ) : (
        <>
          <div role="status">
            <h2>{state}</h2>
          </div>
          <progress max={rows.length} value={done} aria-label={state} />
          <p class="small muted">{t.canClose}</p>
        </>
      )}
      <FaultList faults={refused} />
      {loaded.state === 'done' && (
        <div class="row actions">
          <button onClick={() => go({ step: 0 })}>{t.another}</button>
          <a class="button primary" href={hrefOf(['evidences'])}>
            {t.show}
          </a>
        </div>
      )}
    </>
  )
}
