import { useState } from 'preact/hooks'
import type { Evidence } from '../../client/index.ts'
import { WhenLoaded } from '../components/notice.tsx'
import { useLoad } from '../components/use-load.ts'
import { Badge, Facts, Hash, LongText, Time } from '../components/values.tsx'
import { hrefOf } from '../router.ts'
import { hasLevel, useSession } from '../session.ts'
import { texts } from '../texts.ts'
import { EvidenceFiles } from './evidence-files.tsx'
import { FileImage } from './file-preview.tsx'
import { ProofDialog } from './proof-dialog.tsx'
import { ShareDialog } from './share-dialog.tsx'
import { Timeline } from './timeline.tsx'

/** One evidence: its data, files and history. */
export function EvidencePage({ externalId }: { readonly externalId: string }) {
  const { client } = useSession()
  const page = useLoad((signal) => client.getEvidence({ externalId }, { signal }), [client, externalId])
  const [changes, setChanges] = useState(0)
  const reload = (): void => {
    page.reload()
    setChanges(changes + 1)
  }
  return (
    <WhenLoaded of={page}>
      {({ object }) => (
        <>
          <Head evidence={object} />
          <EvidenceData evidence={object} />
          <EvidenceFiles externalId={externalId} onChange={reload} />
          <Timeline externalId={externalId} changes={changes} />
        </>
      )}
    </WhenLoaded>
  )
}

/** The name, the state, and what the key may do. */
function Head({ evidence }: { readonly evidence: Evidence }) {
  const t = texts.evidence
  const session = useSession()
  const [dialog, setDialog] = useState<'proof' | 'share'>()
  const { externalId, id } = evidence
  const close = (): void => setDialog(undefined)
  return (
    <>
      <div class="head">
        <h1>
          <bdi>{evidence.name}</bdi>{' '}
          {evidence.status === 'stolen' && <Badge tone="bad">{texts.evidences.stolen}</Badge>}
        </h1>
        <span class="row">
          {hasLevel(session, 'U') && (
            <>
              <a class="button" href={hrefOf(['evidences', externalId, 'update'])}>
                {t.update}
              </a>
              <a class="button" href={hrefOf(['evidences', externalId, 'transfer'])}>
                {t.transfer}
              </a>
            </>
          )}
          <button onClick={() => setDialog('proof')}>{t.proof}</button>
          <button onClick={() => setDialog('share')}>{t.share}</button>
          <a class="button" href={hrefOf(['verify', id])}>
            {t.verify}
          </a>
          <a class="button" href={hrefOf(['certificate', id, externalId])}>
            {t.certificate}
          </a>
        </span>
      </div>
      {dialog === 'proof' && <ProofDialog externalId={externalId} onClose={close} />}
      {dialog === 'share' && <ShareDialog evidenceId={id} onClose={close} />}
    </>
  )
}

/** The current values. */
function EvidenceData({ evidence }: { readonly evidence: Evidence }) {
  const t = texts.evidence
  const { externalId, owner, createDate, description, summary, meta, txId, imageId, name } = evidence
  return (
    <section class="card">
      <h2>{t.data}</h2>
      <Facts
        of={[
          [t.image, imageId && <FileImage fileId={imageId} label={name} />],
          [texts.evidences.externalId, <bdi>{externalId}</bdi>],
          [texts.evidences.category, <CategoryLink evidence={evidence} />],
          [texts.evidences.owner, owner && <bdi>{owner}</bdi>],
          [t.created, <Time at={createDate} />],
          [t.description, description && <LongText text={description} />],
          [t.summary, summary && <LongText text={summary} />],
          [t.meta, meta && <pre>{JSON.stringify(meta, null, 2)}</pre>],
          [
            t.txId,
            <>
              <Hash value={txId} />
              <div class="muted">{t.txIdHint}</div>
            </>,
          ],
        ]}
      />
    </section>
  )
}

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
