import { useContext } from 'preact/hooks'
import type { EvidenceProof } from '../../client/index.ts'
import { verifyBundle, type BundleClaims, type BundleEventClaims } from '../../../core/verify/index.ts'
import { Icon, Mark, Seal, type SealKind } from '../components/icon.tsx'
import { Notice, WhenLoaded } from '../components/notice.tsx'
import { QrCode } from '../components/qr-code.tsx'
import { useEvery, useLoad } from '../components/use-load.ts'
import { authorityName, Facts, Hash, isOwn, networkName } from '../components/values.tsx'
import { formatTime, formatUtc } from '../format.ts'
import { publicClient, SessionContext, type Session } from '../session.ts'
import { texts } from '../texts.ts'
import { CertificateFiles, CertificateHistory, CertificateSubject, NewestEvents } from './certificate-content.tsx'
import { readText } from './read-text.ts'
import { verificationLink } from './share-dialog.tsx'

interface CertificatePageProps {
  readonly evidenceId: string
  /** Whose content is printed, if there is a session. Without it, only the public proof is. */
  readonly externalId: string | undefined
}

const REFRESH_MS = 2_000

type OkProof = Extract<EvidenceProof, { status: 'ok' }>

/**
 * A page made for print: what is registered, what its proof says, and where to verify it. The content comes from a
 * bundle that was verified here, so that everything on the paper is what the txIds commit to.
 */
export function CertificatePage({ evidenceId, externalId }: CertificatePageProps) {
  const session = useContext(SessionContext)
  const load = async (signal: AbortSignal) => {
    const proof = await publicClient.verifyEvidence({ evidenceId }, { signal })
    if (proof.status !== 'ok') return undefined
    const isContent = session !== undefined && externalId !== undefined
    const claims = isContent ? await verifiedContent(session, externalId, proof, signal) : undefined
    return claims && claims.events.at(-1)?.log === undefined ? undefined : { proof, claims }
  }
  const certificate = useLoad(load, [evidenceId, externalId, session])
  const { loaded, reload } = certificate
  useEvery(REFRESH_MS, reload, loaded.state === 'done' && loaded.value === undefined)
  return (
    <WhenLoaded of={certificate} title={texts.certificate.title}>
      {(value) =>
        value === undefined ? (
          <>
            <h1>{texts.certificate.title}</h1>
            <Notice tone="pending">{texts.certificate.pending}</Notice>
          </>
        ) : (
          <Certificate proof={value.proof} claims={value.claims} evidenceId={evidenceId} />
        )
      }
    </WhenLoaded>
  )
}

/** The content of an evidence. Throws if it does not hash to the txId that the public proof is about. */
async function verifiedContent(
  { client }: Session,
  externalId: string,
  { txId }: OkProof,
  signal: AbortSignal,
): Promise<BundleClaims> {
  const bundle = await client.getBundle({ externalId, fields: 'all', files: 'all' }, { signal })
  const [text, { tokens }] = await Promise.all([readText(bundle, 'proof'), import('../../../core/verify/tokens.ts')])
  const result = verifyBundle(text, { expect: { txId }, tokens })
  if (!('claims' in result)) throw new Error(result.reason)
  return result.claims
}

/** A time by which the newest event existed, and who states it. */
interface StatedTime {
  readonly at: number
  readonly by: string
  /** The operator's own test authority or ledger. */
  readonly isLocalTest: boolean
}

/** The earliest one that is not of the operator's own authority or ledger, else the earliest of these. */
function statedTime(newest: BundleEventClaims | undefined, { tsa, merkle: { anchor } }: OkProof) {
  const shown = (at: string, by: string): StatedTime => ({ at: Date.parse(at), by, isLocalTest: isOwn(by) })
  const times: readonly StatedTime[] = newest
    ? [
        ...newest.timestamps.map(({ notLaterThan, authorities, isLocalTest }) => {
          const named = authorities.filter((each) => isLocalTest || !each.isLocalTest)
          return { at: notLaterThan, by: named.map(({ name }) => name).join(', '), isLocalTest }
        }),
        ...newest.anchors
          .filter(({ isBlockFinal }) => isBlockFinal)
          .map(({ blockTime, network, isLocalTest }) => ({ at: blockTime, by: network, isLocalTest })),
      ]
    : [
        ...(tsa ? [shown(tsa.genTime, tsa.authority)] : []),
        ...(anchor ? [shown(anchor.blockTime, anchor.network)] : []),
      ]
  return times.toSorted((a, b) => Number(a.isLocalTest) - Number(b.isLocalTest) || a.at - b.at)[0]
}

/** Only a time that is not the operator's own makes the seal green. */
const SEALS = { independent: 'proven', own: 'info', none: 'unstamped' } as const satisfies Record<string, SealKind>

interface CertificateProps {
  readonly proof: OkProof
  readonly claims: BundleClaims | undefined
  readonly evidenceId: string
}

/** On paper there is no hover, so both zones are printed. */
const printedTime = (time: string): string => `${formatTime(time)} (${formatUtc(time)})`

/** Two A4 pages: what hangs on the wall, and behind it the hashes with which it is verified without us. */
function Certificate({ proof, claims, evidenceId }: CertificateProps) {
  const t = texts.certificate
  const session = useContext(SessionContext)
  const link = verificationLink(evidenceId)
  // What hangs on the wall is the present state, so the newest event decides what is proven.
  const newest = claims?.events.at(-1)
  const stated = statedTime(newest, proof)
  const by = stated === undefined ? 'none' : stated.isLocalTest ? 'own' : 'independent'
  return (
    <article class="certificate">
      <p class="row no-print">
        <button class="primary" onClick={() => print()}>
          <Icon name="print" />
          {t.print}
        </button>
      </p>
      <section class="column sheet">
        <header class="flex">
          <Mark />
          <b>{session && claims ? session.companyId : texts.product}</b>
          <span class="muted">{t.title}</span>
          <span class="end">{t.issued(formatTime(Date.now()))}</span>
        </header>
        {claims ? <CertificateSubject claims={claims} /> : <h1 class="cert-title">{t.title}</h1>}
        <div class={`cert-proof ${by}`}>
          <Seal kind={SEALS[by]} />
          <div>
            <p class="big-proof">{t.proven[by](formatTime(stated?.at ?? 0))}</p>
            <p>{claims ? t.provenText : t.provenCreation}</p>
            <p>{t.statedBy[by](stated?.by ?? '')}</p>
            <p class="hash">
              <a href={link}>{link}</a>
            </p>
          </div>
          <figure>
            <QrCode text={link} label={texts.share.qr} />
            <figcaption>{t.scan}</figcaption>
          </figure>
        </div>
        {claims && <NewestEvents events={claims.events} />}
        <footer class="muted">{t.asOf(newest?.log?.treeSize ?? proof.merkle.treeSize)}</footer>
      </section>
      <Hashes proof={proof} claims={claims} />
    </article>
  )
}

/** The second page: what the proof consists of, all events, and the files. */
function Hashes({ proof, claims }: Pick<CertificateProps, 'proof' | 'claims'>) {
  const t = texts.certificate
  const { txId, createdAt, merkle, tsa } = proof
  const { anchor } = merkle
  return (
    <section class="column sheet">
      <header class="flex">
        <Mark />
        <b>{t.fingerprint}</b>
      </header>
      <Facts
        of={[
          [texts.verify.txId, <Hash value={txId} />],
          [t.statedTime, printedTime(createdAt)],
          [texts.log.stamp, tsa && `${authorityName(tsa.authority)}: ${printedTime(tsa.genTime)}`],
          [
            texts.log.anchor,
            anchor && `${networkName(anchor.network)}, ${anchor.blockNumber}: ${printedTime(anchor.blockTime)}`,
          ],
          [t.transaction, anchor && <Hash value={anchor.txHash} />],
          [texts.log.root, <Hash value={merkle.merkleRoot} />],
          [texts.verify.position, merkle.leafIndex],
          [texts.log.batch, <Hash value={merkle.batchId} />],
          [t.checkpoint, <pre dir="ltr">{merkle.checkpoint}</pre>],
        ]}
      />
      {claims && <CertificateHistory events={claims.events} />}
      {claims && <CertificateFiles events={claims.events} />}
      <h2>{t.notProven}</h2>
      <p>{t.notProvenText}</p>
    </section>
  )
}
