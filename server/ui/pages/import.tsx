import { useRef, useState } from 'preact/hooks'
import { factOf, FIELDS, META, REQUIRED_FIELDS, targetsOf, type Targets } from '../../import/columns.ts'
import { csvText } from '../../import/csv.ts'
import { newestId, sendRows, type ImportRow } from '../../import/send.ts'
import { FileField, SelectField } from '../components/fields.tsx'
import { Icon } from '../components/icon.tsx'
import { Failure, WhenLoaded } from '../components/notice.tsx'
import { useForm } from '../components/use-form.ts'
import { useLoad } from '../components/use-load.ts'
import { messageOf } from '../failure.ts'
import { saveFile } from '../format.ts'
import { hrefOf } from '../router.ts'
import { useSession } from '../session.ts'
import { texts } from '../texts.ts'
import { DropArea } from './drop-zone.tsx'
import { checkRows, LABELS, readImport, type Fault, type ImportFile } from './import-rows.ts'
import { forgetLeftList } from './use-evidences.ts'

/** Where an import is. */
interface Stage {
  /** The file, its columns, the check, the import: 0 to 3. */
  readonly step: number
  readonly file?: ImportFile
  readonly targets?: Targets
  readonly rows?: readonly ImportRow[]
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
  const [{ step, file, targets = [], rows }, setStage] = useState<Stage>({ step: 0 })
  return (
    <div class="first">
      <div class="head">
        <h1>{t.title}</h1>
      </div>
      <section key={step} class="card stack" ref={step > 0 ? focus : null} tabIndex={-1} aria-label={t.title}>
        <p class="small muted" role="status">
          {t.step(step)}
          {file && <bdi> · {file.name}</bdi>}
        </p>
        {step === 0 && <FileStep go={setStage} />}
        {file && step === 1 && <ColumnsStep file={file} go={setStage} />}
        {file && step === 2 && <CheckStep file={file} targets={targets} go={setStage} />}
        {rows && <RunStep rows={rows} go={setStage} />}
      </section>
    </div>
  )
}

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
      <div class="pair">
        {columns.map((column, i) => (
          <SelectField
            key={i}
            label={t.becomes(column)}
            hint={rows.find(({ cells }) => cells[i])?.cells[i]?.slice(0, 100)}
            value={targets[i] ?? ''}
            choices={[['', t.leaveOut], ...fields, [factOf(column), t.fact(factOf(column).slice(META.length))]]}
            onChange={(target) => choose(i, target)}
          />
        ))}
      </div>
      <p class="problem" role="status">
        {missing.length > 0 && t.noColumn(missing)}
      </p>
      <div class="row">
        <button onClick={() => go({ step: 0 })}>{t.back}</button>
        <button class="primary" disabled={missing.length > 0} onClick={() => go({ step: 2, file, targets })}>
          {t.check(rows.length)}
        </button>
      </div>
    </>
  )
}

/** The rows that can be sent, and those that cannot. Nothing was sent yet. */
function CheckStep({ file, targets, go }: StepProps & { readonly targets: Targets }) {
  const t = texts.import
  const { client } = useSession()
  const check = useLoad(async (signal) => checkRows(file, targets, await client.listCategories({}, { signal })), [file])
  return (
    <WhenLoaded of={check}>
      {({ ready, faults }) => (
        <>
          <p role="status">
            <b>{t.ready(ready.length, file.rows.length)}</b>
          </p>
          <FaultList faults={faults} />
          <div class="row">
            <button onClick={() => go({ step: 0 })}>{t.back}</button>
            <button class="primary" disabled={ready.length === 0} onClick={() => go({ step: 3, file, rows: ready })}>
              {t.start(ready.length)}
            </button>
          </div>
        </>
      )}
    </WhenLoaded>
  )
}

const SHOWN_FAULTS = 20

/** Rows that are not created, with the reasons: the first ones, and all of them as a file. */
function FaultList({ faults }: { readonly faults: readonly Fault[] }) {
  const t = texts.import
  if (faults.length === 0) return null
  const save = (): void => {
    // The mark says to a spreadsheet that the text is UTF-8.
    const text = `\u{feff}${csvText([t.faultColumns, ...faults.map((each) => Object.values(each))])}`
    saveFile(new Blob([text], { type: 'text/csv' }), 'rows-with-reasons.csv')
  }
  return (
    <>
      <ul class="lines" aria-label={t.faultsLabel}>
        {faults.slice(0, SHOWN_FAULTS).map(({ number, externalId, reason }) => (
          <li key={number}>
            <b>{t.row(number)}</b>
            <bdi class="text small muted">{reason}</bdi>
            <bdi class="id">{externalId}</bdi>
          </li>
        ))}
      </ul>
      <button onClick={save}>
        <Icon name="keep" />
        {t.save(faults.length)}
      </button>
    </>
  )
}

const NOTHING_DONE = { created: 0, present: 0 }

/** Sends the rows, and says what became of them. */
function RunStep({ rows, go }: Pick<StepProps, 'go'> & { readonly rows: readonly ImportRow[] }) {
  const t = texts.import
  const { client } = useSession()
  const first = useRef<string>(undefined)
  const [counts, setCounts] = useState(NOTHING_DONE)
  const [refused, setRefused] = useState<readonly Fault[]>([])
  const [attempt, setAttempt] = useState(0)
  const send = async (signal: AbortSignal): Promise<void> => {
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
  }
  const { loaded } = useLoad((signal) => send(signal).finally(() => forgetLeftList(client)), [attempt])
  const { created, present } = counts
  const done = created + present + refused.length
  const isDone = loaded.state === 'done'
  const state = isDone ? t.created(created) : t.progress(done, rows.length)
  return (
    <>
      {loaded.state === 'failed' && <Failure error={loaded.error} retry={() => setAttempt(attempt + 1)} />}
      <b class="flex" role="status">
        {state}
      </b>
      <progress max={rows.length} value={done} aria-label={state} />
      <p class="small muted">{isDone ? t.others(present, refused.length) : t.canClose}</p>
      <FaultList faults={refused} />
      {isDone && (
        <div class="row">
          <button onClick={() => go({ step: 0 })}>{t.another}</button>
          <a class="button primary" href={hrefOf(['evidences'])}>
            {t.show}
          </a>
        </div>
      )}
    </>
  )
}
