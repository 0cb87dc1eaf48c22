import type { BundleClaims, BundleEventClaims } from '../../../core/verify/index.ts'
import { Table, type Column } from '../components/table.tsx'
import { Facts, Hash, LongText, Time } from '../components/values.tsx'
import { presentValues } from '../event-changes.ts'
import { disclosedName } from '../event-names.ts'
import { texts } from '../texts.ts'

/** More files would not fit on the first sheets. The bundle has all of them. */
const MAX_FILES = 12

/** What is registered: the present values after all events, and the attached files. */
export function CertificateContent({ claims: { events } }: { readonly claims: BundleClaims }) {
  const t = texts.certificate
  const values = presentValues(events)
  const text = (name: string): string | undefined => {
    const value = values.get(name)
    return typeof value === 'string' && value !== '' ? value : undefined
  }
  const meta = values.get('meta')
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
            [
              texts.fields.status,
              text('status') === 'stolen' ? <strong>{texts.evidences.stolen}</strong> : texts.evidences.active,
            ],
            [texts.fields.description, description && <LongText text={description} />],
            [texts.fields.summary, summary && <LongText text={summary} />],
            [texts.fields.meta, meta !== undefined && meta !== null && <pre>{JSON.stringify(meta)}</pre>],
          ]}
        />
      </section>
      <FileList events={events} />
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
        items={files.slice(0, MAX_FILES)}
        keyOf={({ id }) => id}
        isCard={false}
      />
      {files.length > MAX_FILES && <p>{t.more(files.length - MAX_FILES)}</p>}
    </section>
  )
}

const FILE_COLUMNS: readonly Column<{ readonly name: string; readonly size: number; readonly sha256: string }>[] = [
  { title: texts.fields.name, cell: ({ name }) => <bdi>{name}</bdi> },
  { title: texts.certificate.bytes, cell: ({ size }) => size.toLocaleString() },
  { title: 'SHA-256', cell: ({ sha256 }) => <Hash value={sha256} /> },
]

/** All events, with what is proven about their times. On paper they begin a sheet. */
export function CertificateHistory({ claims: { events } }: { readonly claims: BundleClaims }) {
  const t = texts.certificate
  return (
    <section class="card history">
      <h2>{t.history}</h2>
      <Table
        label={t.history}
        columns={EVENT_COLUMNS}
        items={events.toReversed()}
        keyOf={({ txId }) => txId}
        isCard={false}
      />
    </section>
  )
}

const EVENT_COLUMNS: readonly Column<BundleEventClaims>[] = [
  { title: texts.certificate.what, cell: ({ fields }) => <EventName fields={fields} /> },
  { title: texts.certificate.recorded, cell: ({ committedTime }) => <Time at={committedTime} /> },
  {
    title: texts.certificate.notLaterThan,
    cell: ({ notLaterThan }) => (notLaterThan === undefined ? texts.none : <Time at={notLaterThan} />),
  },
  { title: texts.verify.txId, cell: ({ txId }) => <Hash value={txId} /> },
]

/** What an event did; of a transfer, also to whom. */
function EventName({ fields }: Pick<BundleEventClaims, 'fields'>) {
  const t = texts.certificate
  const name = disclosedName(fields)
  const owner = fields.get('owner')
  if (name !== texts.evidence.eventNames.transfer || typeof owner !== 'string') return <>{name ?? texts.none}</>
  return (
    <>
      {name} <bdi>{owner === '' ? t.noOwner : t.newOwner(owner)}</bdi>
    </>
  )
}
