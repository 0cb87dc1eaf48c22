import type { ComponentChildren } from 'preact'
import { isLocalTimeOnly, type BundleClaims, type BundleEventClaims } from '../../../core/verify/index.ts'
import { Table, type Column } from '../components/table.tsx'
import { Thumb } from '../components/thumb.tsx'
import { Hash, LongText } from '../components/values.tsx'
import { lastText, presentText, type LastText } from '../event-changes.ts'
import { erasedOn } from '../erased.ts'
import { disclosedName } from '../event-names.ts'
import { formatBound, formatPrinted } from '../format.ts'
import * as texts from '../texts/index.ts'
import type { CertificateProof } from './certificate-proof.ts'

type SubjectProps = Pick<CertificateProof, 'erased'> & { readonly claims: BundleClaims }

/** What hangs on the wall: the thing, its present owner and its present state, after all events. */
export function CertificateSubject({ claims: { events }, erased }: SubjectProps) {
  const t = texts.certificate
  /** Only what is present is printed. */
  const text = (name: string): string | undefined => presentText(events, name)
  /** When the present value was set, as stated. */
  const since = ({ version = 1, isPresent }: LastText): string => {
    const setter = events[version - 1]
    return setter === undefined || !isPresent ? '' : t.since(formatPrinted(setter.committedTime))
  }
  const [imageId, description] = [text('imageId'), text('description') ?? erasedOn(erased, 'description')]
  const [owner, status] = [lastText(events, 'owner'), lastText(events, 'status')]
  const isStolen = status.isPresent && status.text === 'stolen'
  return (
    <section class="cert-top" aria-label={t.content}>
      {imageId && (
        <Thumb file={{ id: imageId, mimeType: 'image/jpeg' }} width={640} label={text('name') ?? ''} class="photo" />
      )}
      <div>
        <h1>
          <bdi>{text('name') ?? erasedOn(erased, 'name') ?? t.hidden}</bdi>
        </h1>
        <p class="id">
          <bdi>{text('externalId')}</bdi>
        </p>
        <div class="cert-now">
          <div>
            <span class="muted">{texts.form.presentOwner}</span>
            <b class="wrap">
              {!owner.isPresent ? (
                (erasedOn(erased, 'owner') ?? t.hidden)
              ) : owner.text === undefined ? (
                texts.evidences.noOwner
              ) : (
                <bdi>{owner.text}</bdi>
              )}
            </b>
            <span class="muted">{since(owner)}</span>
          </div>
          <div>
            <span class="muted">{t.content}</span>
            <b class={isStolen ? 'is-stolen' : undefined}>
              {!status.isPresent ? t.hidden : isStolen ? texts.evidences.stolen : t.notStolen}
            </b>
            {isStolen && <span class="muted">{since(status)}</span>}
          </div>
        </div>
        {description && <LongText text={description} />}
      </div>
    </section>
  )
}

interface ListProps {
  readonly events: readonly BundleEventClaims[]
}

/** The files that are attached, with their hashes. */
export function CertificateFiles({ events }: ListProps) {
  const files = events.flatMap(({ files: ofEvent }) => [...ofEvent.values()]).filter((file) => 'sha256' in file)
  if (files.length === 0) return null
  return (
    <>
      <h2>{texts.evidence.files}</h2>
      <Table label={texts.evidence.files} columns={FILE_COLUMNS} items={files} keyOf={({ id }) => id} isCard={false} />
    </>
  )
}

const FILE_COLUMNS: readonly Column<{ readonly name: string; readonly size: number; readonly sha256: string }>[] = [
  { title: texts.fields.name, cell: ({ name }) => <bdi>{name}</bdi> },
  { title: texts.certificate.bytes, cell: ({ size }) => size.toLocaleString() },
  { title: 'SHA-256', cell: ({ sha256 }) => <Hash value={sha256} /> },
]

/** The newest events on the first page, without hashes. */
export const NewestEvents = ({ events }: ListProps) => (
  <>
    <h2>{texts.certificate.newest}</h2>
    <Table
      label={texts.certificate.newest}
      columns={WALL_COLUMNS}
      items={events.slice(-MAX_ON_WALL).toReversed()}
      keyOf={({ txId }) => txId}
      isCard={false}
    />
    {events.length > MAX_ON_WALL && <p class="muted">{texts.certificate.further(events.length - MAX_ON_WALL)}</p>}
  </>
)

/** So many fit on the first page, also with long remarks. */
const MAX_ON_WALL = 6

const WALL_COLUMNS: readonly Column<BundleEventClaims>[] = [
  { title: texts.certificate.what, cell: ({ fields }) => <EventName fields={fields} /> },
  { title: texts.change.remark, cell: ({ fields }) => <Remark fields={fields} /> },
  { title: texts.overview.recorded, cell: ({ committedTime }) => formatPrinted(committedTime) },
]

const Remark = ({ fields }: Pick<BundleEventClaims, 'fields'>) => {
  const said = fields.get('updateDescription') ?? fields.get('eventDescription')
  return typeof said === 'string' ? <bdi class="wrap">{said}</bdi> : null
}

/** All events, with what is proven about their times. */
export const CertificateHistory = ({ events }: ListProps) => (
  <>
    <h2>{texts.certificate.history}</h2>
    <Table
      label={texts.certificate.history}
      columns={EVENT_COLUMNS}
      items={events.toReversed()}
      keyOf={({ txId }) => txId}
      isCard={false}
    />
  </>
)

const EVENT_COLUMNS: readonly Column<BundleEventClaims>[] = [
  { title: texts.certificate.what, cell: ({ fields }) => <EventName fields={fields} /> },
  { title: texts.overview.recorded, cell: ({ committedTime }) => formatPrinted(committedTime) },
  {
    title: texts.certificate.notLaterThan,
    cell: (event) =>
      event.notLaterThan === undefined ? (
        texts.none
      ) : (
        <>
          {formatBound(event.notLaterThan, formatPrinted)}
          {isLocalTimeOnly(event) && ` (${texts.ownTest.short})`}
        </>
      ),
  },
  { title: texts.verify.txId, cell: ({ txId }) => <Hash value={txId} /> },
]

/** What an event did, and to whom it transferred the evidence. */
export function EventName({ fields }: Pick<BundleEventClaims, 'fields'>): ComponentChildren {
  const t = texts.certificate
  const owner = fields.get('owner')
  const name = disclosedName(fields)
  if (name !== texts.evidence.eventNames.transfer || typeof owner !== 'string') return name
  return (
    <>
      {name} <bdi>{owner === '' ? t.noOwner : t.newOwner(owner)}</bdi>
    </>
  )
}
