import type { EvidenceProof } from '../../client/index.ts'
import { Notice, WhenLoaded } from '../components/notice.tsx'
import { QrCode } from '../components/qr-code.tsx'
import { useLoad } from '../components/use-load.ts'
import { Facts, Hash } from '../components/values.tsx'
import { formatTime, formatUtc } from '../format.ts'
import { publicClient } from '../session.ts'
import { texts } from '../texts.ts'
import { verificationLink } from './share-dialog.tsx'

/** A page made for print: what the public proof of an evidence says, and where to verify it. */
export function CertificatePage({ evidenceId }: { readonly evidenceId: string }) {
  const proof = useLoad((signal) => publicClient.verifyEvidence({ evidenceId }, { signal }), [evidenceId])
  return (
    <WhenLoaded of={proof}>
      {(value) =>
        value.status === 'ok' ? (
          <Certificate proof={value} evidenceId={evidenceId} />
        ) : (
          <Notice tone="warn">{texts.certificate.pending}</Notice>
        )
      }
    </WhenLoaded>
  )
}

interface CertificateProps {
  readonly proof: Extract<EvidenceProof, { status: 'ok' }>
  readonly evidenceId: string
}

/** On paper there is no hover, so both zones are printed. */
const printedTime = (time: string): string => `${formatTime(time)} (${formatUtc(time)})`

function Certificate({ proof, evidenceId }: CertificateProps) {
  const t = texts.certificate
  const { txId, createdAt, merkle, tsa, assurance } = proof
  const link = verificationLink(evidenceId)
  return (
    <article>
      <div class="head">
        <h1>{t.title}</h1>
        <button class="no-print" onClick={() => print()}>
          {t.print}
        </button>
      </div>
      <section class="card">
        <h2>{t.proven}</h2>
        <p>{t.provenText}</p>
        <Facts
          of={[
            [texts.verify.txId, <Hash value={txId} />],
            [texts.evidence.created, printedTime(createdAt)],
            [t.stamp, tsa && `${tsa.authority}: ${printedTime(tsa.genTime)}`],
            [
              t.block,
              merkle.anchor &&
                `${merkle.anchor.network}, ${merkle.anchor.blockNumber}: ${printedTime(merkle.anchor.blockTime)}`,
            ],
          ]}
        />
        <p>{assurance.note}</p>
      </section>
      <section class="card">
        <h2>{t.notProven}</h2>
        <p>{t.notProvenText}</p>
      </section>
      <section class="card">
        <h2>{t.fingerprint}</h2>
        <Facts
          of={[
            [texts.log.root, <Hash value={merkle.merkleRoot} />],
            [texts.verify.position, merkle.leafIndex],
            [texts.log.batch, <Hash value={merkle.batchId} />],
            [t.block, merkle.anchor && <Hash value={merkle.anchor.txHash} />],
            [texts.log.checkpoint, <pre>{merkle.checkpoint}</pre>],
          ]}
        />
      </section>
      <section class="card">
        <h2>{t.scan}</h2>
        <QrCode text={link} label={texts.share.qr} />
        <p>
          <a href={link}>{link}</a>
        </p>
      </section>
    </article>
  )
}
