import { useContext } from 'preact/hooks'
import type { EvidenceProof } from '../../client/index.ts'
import { verifyBundle, type BundleClaims } from '../../../core/verify/index.ts'
import { Notice, WhenLoaded } from '../components/notice.tsx'
import { QrCode } from '../components/qr-code.tsx'
import { useLoad } from '../components/use-load.ts'
import { Facts, Hash } from '../components/values.tsx'
import { formatTime, formatUtc } from '../format.ts'
import { publicClient, SessionContext, type Session } from '../session.ts'
import { texts } from '../texts.ts'
import { CertificateContent, CertificateHistory } from './certificate-content.tsx'
import { verificationLink } from './share-dialog.tsx'

interface CertificatePageProps {
  readonly evidenceId: string
  /** Whose content is printed, if there is a session. Without it, only the public proof is. */
  readonly externalId: string | undefined
}

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
    return { proof, claims: isContent ? await verifiedContent(session, externalId, proof, signal) : undefined }
  }
  const certificate = useLoad(load, [evidenceId, externalId, session])
  return (
    <WhenLoaded of={certificate}>
      {(value) =>
        value === undefined ? (
          <Notice tone="warn">{texts.certificate.pending}</Notice>
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
  const result = verifyBundle(await bundle.text(), { expect: { txId } })
  if (!('claims' in result)) throw new Error(result.reason)
  return result.claims
}

interface CertificateProps {
  readonly proof: OkProof
  readonly claims: BundleClaims | undefined
  readonly evidenceId: string
}

/** On paper there is no hover, so both zones are printed. */
const printedTime = (time: string): string => `${formatTime(time)} (${formatUtc(time)})`

/** The sheet itself: what, since when, and how to verify it without us. */
function Certificate({ proof, claims, evidenceId }: CertificateProps) {
  const t = texts.certificate
  const { txId, createdAt, merkle, tsa, assurance } = proof
  const { anchor } = merkle
  const link = verificationLink(evidenceId)
  return (
    <article class="certificate">
      <div class="head">
        <div>
          <p class="muted">{texts.product}</p>
          <h1>{t.title}</h1>
          <p>
            <button class="no-print" onClick={() => print()}>
              {t.print}
            </button>
          </p>
        </div>
        <figure class="scan">
          <QrCode text={link} label={texts.share.qr} />
          <figcaption>{t.scan}</figcaption>
        </figure>
      </div>
      {claims && <CertificateContent claims={claims} />}
      <section class="card">
        <h2>{t.proven}</h2>
        <p>{t.provenText}</p>
        <Facts
          of={[
            [texts.verify.txId, <Hash value={txId} />],
            [t.stamp, tsa && `${tsa.authority}: ${printedTime(tsa.genTime)}`],
            [t.block, anchor && `${anchor.network}, ${anchor.blockNumber}: ${printedTime(anchor.blockTime)}`],
          ]}
        />
        <p>{assurance.note}.</p>
      </section>
      <section class="card">
        <h2>{t.notProven}</h2>
        <p>{t.notProvenText}</p>
        <Facts of={[[t.statedTime, printedTime(createdAt)]]} />
      </section>
      <section class="card">
        <h2>{t.fingerprint}</h2>
        <Facts
          of={[
            [texts.log.root, <Hash value={merkle.merkleRoot} />],
            [texts.verify.position, merkle.leafIndex],
            [texts.log.batch, <Hash value={merkle.batchId} />],
            [t.transaction, anchor && <Hash value={anchor.txHash} />],
            [t.checkpoint, <pre dir="ltr">{merkle.checkpoint}</pre>],
            [t.link, <a href={link}>{link}</a>],
          ]}
        />
      </section>
      {claims && <CertificateHistory claims={claims} />}
    </article>
  )
}
