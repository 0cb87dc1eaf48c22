import type { BundleClaims, BundleEventClaims } from '../../../core/verify/index.ts'
import { Table, type Column } from '../components/table.tsx'
import { Facts, Hash, LongText, Time } from '../components/values.tsx'
import { actionName } from '../event-names.ts'
import { texts } from '../texts.ts'

/** More events or files would not fit on two sheets. The bundle has all of them. */
const MAX_ROWS = 12

/** What is registered: the values of the creation, the attached files, and the history. */
export function CertificateContent({ claims: { events } }: { readonly claims: BundleClaims }) {
  const t = texts.certificate
  const [creation] = events
  if (creation === undefined) return null
  const text = (name: string): string | undefined => {
    const value = creation.fields.get(name)
    return typeof value === 'string' && value !== '' ? value : undefined
  }
  const meta = creation.fields.get('meta')
  const [description, summary] = [text('description'), text('summary')]
  return (
    <>
      <section class="card">
        <h2>{t.content}</h2>
        <Facts
          of={[
            [texts.fields.name, text('name') && <bdi class="subject">{text('name')}</bdi>],
            [texts.fields.externalId, text('externalId') && <bdi>{text('externalId')}</bdi>],
            [texts.fields.owner, text('owner') && <bdi>{text('owner')}</bdi>],
            [texts.fields.description, description && <LongText text={description} />],
            [texts.fields.summary, summary && <LongText text={summary} />],
            [texts.fields.meta, meta !== undefined && meta !== null && <pre>{JSON.stringify(meta)}</pre>],
          ]}
        />
      </section>
      <FileList events={events} />
      <History events={events} />
    </>
  )
}

interface EventsProps {
  readonly events: readonly BundleEventClaims[]
}

/** The files that are attached, with their hashes. */
function FileList({ events }: EventsProps) {
  const t = texts.certificate
  const files = events.flatMap(({ files: ofEvent }) => [...ofEvent.values()]).filter((file) => 'sha256' in file)
  if (files.length === 0) return null
  return (
    <section class="card">
      <h2>{texts.evidence.files}</h2>
      <Table
        label={texts.evidence.files}
        columns={FILE_COLUMNS}
        items={files.slice(0, MAX_ROWS)}
        keyOf={({ id }) => id}
        isCard={false}
      />
      {files.length > MAX_ROWS && <p>{t.more(files.length - MAX_ROWS)}</p>}
    </section>
  )
}

const FILE_COLUMNS: readonly Column<{ readonly name: string; readonly size: number; readonly sha256: string }>[] = [
  { title: texts.fields.name, cell: ({ name }) => <bdi>{name}</bdi> },
  { title: texts.certificate.bytes, cell: ({ size }) => size.toLocaleString() },
  { title: 'SHA-256', cell: ({ sha256 }) => <Hash value={sha256} /> },
]

/** The first events, with what is proven about their times. */
function History({ events }: EventsProps) {
  const t = texts.certificate
  return (
    <section class="card">
      <h2>{texts.evidence.history}</h2>
      <Table
        label={texts.evidence.history}
        columns={EVENT_COLUMNS}
        items={events.slice(0, MAX_ROWS)}
        keyOf={({ txId }) => txId}
        isCard={false}
      />
      {events.length > MAX_ROWS && <p>{t.more(events.length - MAX_ROWS)}</p>}
    </section>
  )
}

const EVENT_COLUMNS: readonly Column<BundleEventClaims>[] = [
  { title: texts.certificate.what, cell: ({ fields }) => actionName(fields.get('action')) ?? texts.none },
  { title: texts.certificate.recorded, cell: ({ committedTime }) => <Time at={committedTime} /> },
  {
    title: texts.certificate.notLaterThan,
    cell: ({ notLaterThan }) => (notLaterThan === undefined ? texts.none : <Time at={notLaterThan} />),
  },
  { title: texts.verify.txId, cell: ({ txId }) => <Hash value={txId} /> },
]
