import { useEffect, useRef, useState } from 'preact/hooks'
import type { Evidence } from '../../client/index.ts'
import { openDialog } from '../components/dialog.tsx'
import { Icon, type IconName } from '../components/icon.tsx'
import { Menu } from '../components/menu.tsx'
import { Card, WhenLoaded } from '../components/notice.tsx'
import { Thumb } from '../components/thumb.tsx'
import { toast } from '../components/toast.tsx'
import { useEvery, useLoad } from '../components/use-load.ts'
import { Badge, CopyButton, Facts, Hash, LongText, StateBadge, Time } from '../components/values.tsx'
import { erasedOn, erasedRows } from '../erased.ts'
import { memberName } from '../event-names.ts'
import { hrefOf, navigate } from '../router.ts'
import { hasLevel, useSession } from '../session.ts'
import * as texts from '../texts/index.ts'
import { ChangeDialog, showSection, type ChangeKind } from './change-evidence.tsx'
import { EraseDialog } from './erase-dialog.tsx'
import { allOf, EvidenceFiles, type EvidenceFilesProps } from './evidence-files.tsx'
import { ProofDialog } from './proof-dialog.tsx'
import { ShareDialog } from './share-dialog.tsx'
import { LinksCard, useShares } from './share-list.tsx'
import { AFTER_ALL, Timeline } from './timeline.tsx'

/** One evidence: what it is and what can be done, its photos, files and history, and its facts. */
export function EvidencePage({ externalId }: { readonly externalId: string }) {
  const { client } = useSession()
  // Only the data of the evidence and its newest version, without events.
  const page = useLoad(
    (signal) => client.getEvidence({ externalId, last: AFTER_ALL, len: 1 }, { signal }),
    [client, externalId],
  )
  const [changes, setChanges] = useState(0)
  const files = useLoad((signal) => client.listEvidenceFiles({ externalId }, { signal }), [client, externalId])
  const shares = useShares(externalId)
  const fileCount = files.loaded.state === 'done' ? allOf(files.loaded.value).length : undefined
  const reloadShown = (): Promise<unknown> => Promise.all([page.reload(), files.reload()])
  const reload = (): Promise<unknown> => {
    setChanges((count) => count + 1)
    return reloadShown()
  }
  return (
    <WhenLoaded of={page} title={externalId}>
      {({ object, lastVersion }) => (
        <>
          <nav class="crumb small muted" aria-label={texts.nav.crumb}>
            <a class="flex quiet" href={hrefOf(['evidences'])}>
              <Icon name="back" />
              {texts.evidences.title}
            </a>
          </nav>
          <Tag evidence={object} lastVersion={lastVersion} files={files} onChange={reload} onShare={shares.reload} />
          <nav class="flex tabs phone-only" aria-label={texts.nav.sections}>
            {(
              [
                ['photos', fileCount],
                ['history', lastVersion],
                ['facts', undefined],
              ] as const
            ).map(([id, count]) => (
              <button key={id} class="plain" onClick={() => showSection(id)}>
                {texts.evidence.sections[id]} <span class="muted">{count?.toLocaleString()}</span>
              </button>
            ))}
          </nav>
          <div class="split">
            <div>
              <EvidenceFiles externalId={externalId} files={files} onChange={reload} />
              <Timeline {...{ externalId, changes, lastVersion }} onNewer={reloadShown} />
            </div>
            <div>
              <LinksCard evidence={object} shares={shares} onChange={shares.reload} />
              <EvidenceFacts evidence={object} />
            </div>
          </div>
        </>
      )}
    </WhenLoaded>
  )
}

interface TagProps {
  readonly evidence: Evidence
  readonly lastVersion: number
  readonly files: EvidenceFilesProps['files']
  readonly onChange: () => unknown
  /** There is another link. */
  readonly onShare: () => unknown
}

/** A tag with photo, name, id, owner, state and verbs. Right of the perforation the stub with the proof. */
function Tag(props: TagProps) {
  const session = useSession()
  const { evidence } = props
  const { name, externalId, owner, status, erased } = evidence
  return (
    <section class="card flush tag" aria-label={name || externalId}>
      <Photo {...props} />
      <div class="column what">
        <div>
          <h1>
            <bdi>{name || erasedOn(erased, 'name')}</bdi>
          </h1>
          <p class="id">
            <bdi>{externalId}</bdi>
          </p>
        </div>
        <dl class="row duo">
          <div>
            <dt>{texts.fields.owner}</dt>
            <dd>{owner ? <bdi>{owner}</bdi> : (erasedOn(erased, 'owner') ?? texts.evidences.noOwner)}</dd>
          </div>
          <div>
            <dt>{texts.fields.status}</dt>
            <dd>
              <StateBadge isStolen={status === 'stolen'} />
            </dd>
          </div>
        </dl>
        {hasLevel(session, 'U') && <Verbs {...props} />}
      </div>
      <Stub {...props} />
    </section>
  )
}

/** The photo of the evidence in the tag. Nothing in its place if there is none. */
function Photo({ evidence: { imageId, name }, files: { loaded } }: TagProps) {
  const file = loaded.state === 'done' ? loaded.value.dt.find(({ overlayId }) => overlayId === imageId) : undefined
  return <Thumb file={file && { id: file.overlayId, mimeType: file.mimeType }} width={480} label={name} class="photo" />
}

const VERBS: readonly (readonly [ChangeKind, IconName])[] = [
  ['stolen', 'warning'],
  ['found', 'found'],
  ['repair', 'repair'],
  ['transfer', 'transfer'],
  ['attach', 'attach'],
  ['change', 'edit'],
]

/** What can be recorded. On a phone they are the bar below. */
const Verbs = ({ evidence, lastVersion, onChange }: TagProps) => (
  <div class="row bar" role="group" aria-label={texts.evidence.actions}>
    {VERBS.filter(([kind]) => kind !== (evidence.status === 'stolen' ? 'stolen' : 'found')).map(([kind, icon]) => (
      <button
        key={kind}
        class={kind === 'stolen' ? 'danger' : undefined}
        onClick={() =>
          openDialog(<ChangeDialog kind={kind} evidence={evidence} lastVersion={lastVersion} onDone={onChange} />)
        }
      >
        <Icon name={icon} />
        {texts.change[kind].verb}
      </button>
    ))}
  </div>
)

/** How far the newest event is proven, and where the proof leads. */
function Stub({ evidence, lastVersion, onShare, onChange }: TagProps) {
  const t = texts.evidence
  const session = useSession()
  const { id, externalId } = evidence
  const dialog = <EraseDialog evidence={evidence} lastVersion={lastVersion} onDone={onChange} />
  return (
    <div class="stub">
      <ProofState evidenceId={id} />
      <div class="row stub-links small">
        <a href={hrefOf(['verify', id])}>{texts.nav.verify}</a>
        <a href={hrefOf(['certificate', id, externalId])}>{t.certificate}</a>
        <button class="link" onClick={() => openDialog(<ShareDialog evidence={evidence} onDone={onShare} />)}>
          {t.share}
        </button>
        <button class="link" onClick={() => openDialog(<ProofDialog externalId={externalId} />)}>
          {t.proof}
        </button>
        {hasLevel(session, 'A') && <Menu name={externalId} items={[{ icon: 'bin', text: t.erase, dialog }]} />}
      </div>
    </div>
  )
}

const REFRESH_MS = 3_000

/** The stops of the creation's proof, read again until it is anchored. */
function ProofState({ evidenceId }: { readonly evidenceId: string }) {
  const t = texts.overview
  const { client } = useSession()
  const proof = useLoad((signal) => client.verifyEvidence({ evidenceId }, { signal }), [client, evidenceId])
  const value = proof.loaded.state === 'done' ? proof.loaded.value : undefined
  const merkle = value?.status === 'ok' ? value.merkle : undefined
  const tsa = value?.status === 'ok' ? value.tsa : undefined
  const assurance = value?.status === 'ok' ? value.assurance : undefined
  const isIndependent = [assurance?.time, assurance?.anchor].includes('independent')
  const isDone = merkle?.anchor !== undefined && tsa !== undefined
  useEvery(REFRESH_MS, proof.refresh, !isDone)
  const hasWaited = useRef(false)
  useEffect(() => {
    if (isDone && hasWaited.current)
      toast({
        text: texts.evidence.isProven,
        action: texts.nav.verify,
        run: () => navigate(['verify', evidenceId]),
      })
    hasWaited.current = value !== undefined && !isDone
  }, [value, isDone])
  const stops = [
    [t.recorded, value?.status === 'ok' && <Time at={value.createdAt} isAge />, value !== undefined],
    [t.sealed, merkle && texts.evidence.leaf(merkle.leafIndex), merkle !== undefined],
    [t.stamped, tsa && <Time at={tsa.genTime} isAge />, tsa !== undefined],
    [t.anchored, merkle?.anchor && t.block(merkle.anchor.blockNumber), merkle?.anchor !== undefined],
  ] as const
  return (
    <>
      <div class="row">
        {isDone ? (
          <Badge tone={isIndependent ? 'proven' : undefined} icon="tick">
            {t.anchored}
          </Badge>
        ) : (
          <Badge tone="pending" icon="clock">
            {stops.findLast(([, , isReached]) => isReached)?.[0] ?? t.recorded}
          </Badge>
        )}
        <span class="small muted">{texts.evidence.ofCreation}</span>
      </div>
      <ol class="stops small">
        {stops.map(([name, detail, isReached]) => (
          <li key={name} class={`between ${isReached ? '' : 'idle'}`}>
            <b>{name}</b>
            <span class="muted">{detail}</span>
          </li>
        ))}
      </ol>
      {tsa && <p class="small muted">{assurance?.note}</p>}
    </>
  )
}

/** What it is, as rows. */
function EvidenceFacts({ evidence }: { readonly evidence: Evidence }) {
  const t = texts.evidence
  const { id, createDate, description, summary, meta = {}, txId, erased } = evidence
  return (
    <>
      <Card title={t.data} id="facts">
        <Facts
          of={[
            [texts.evidences.category, <CategoryLink evidence={evidence} />],
            [t.created, <Time at={createDate} />],
            [texts.fields.description, description && <LongText text={description} />],
            [texts.fields.summary, summary && <LongText text={summary} />],
            ...Object.entries(meta).map(
              ([name, value]) => [<bdi>{memberName(name)}</bdi>, <MetaValue value={value} />] as const,
            ),
            ...erasedRows(erased),
          ]}
        />
      </Card>
      <Card title={t.ids}>
        <Facts
          of={[
            [texts.fields.evidence, <Hash value={id} isShort />],
            [t.txId, <Hash value={txId} isShort />],
          ]}
        />
        <p class="hint">{t.txIdHint}</p>
        <CopyButton text={txId} label={t.copyTxId} />
      </Card>
    </>
  )
}

/** A value of the metadata: a text as it is, objects as JSON. */
const MetaValue = ({ value }: { readonly value: unknown }) =>
  typeof value === 'object' && value !== null ? (
    <pre>{JSON.stringify(value, null, 2)}</pre>
  ) : (
    <LongText text={String(value)} />
  )

/** The names of the category and the subcategory. Leads to their evidences. */
function CategoryLink({ evidence: { categoryId, subcategoryId } }: { readonly evidence: Evidence }) {
  const { client } = useSession()
  const { loaded } = useLoad(
    (signal) => client.getSubcategory({ categoryId, subcategoryId }, { signal }),
    [client, categoryId, subcategoryId],
  )
  return (
    <a href={hrefOf(['evidences'], { categoryId, subcategoryId })}>
      {loaded.state === 'loading' && texts.loading}
      {loaded.state === 'failed' && subcategoryId}
      {loaded.state === 'done' && <bdi>{namesIn(loaded.value.path)}</bdi>}
    </a>
  )
}

/** `/Vehicles/Cars` becomes `Vehicles / Cars`. Names contain no slash. */
const namesIn = (path: string): string => path.split('/').filter(Boolean).join(' / ')
