import { useContext, useState } from 'preact/hooks'
import type { BundleClaims } from '../../../core/verify/index.ts'
import { Fingerprint } from '../components/fingerprint.tsx'
import { Mark, Seal, type SealKind } from '../components/icon.tsx'
import { Notice, WhenLoaded } from '../components/notice.tsx'
import { QrCode } from '../components/qr-code.tsx'
import { useEvery, useLoad } from '../components/use-load.ts'
import { Facts, Hash } from '../components/values.tsx'
import { formatBound, formatPrinted } from '../format.ts'
import { verificationLink } from '../public-url.ts'
import { SessionContext } from '../session-context.ts'
import * as texts from '../texts/index.ts'
import { PrintButtons, type CertificateCode } from './certificate-code.tsx'
import { CertificateFiles, CertificateHistory, CertificateSubject, NewestEvents } from './certificate-content.tsx'
import { readCertificate, statedTime, type CertificateProof } from './certificate-proof.ts'

interface CertificatePageProps {
  readonly evidenceId: string
  /** Whose content is printed, if there is a session. Without it, only the public proof is. */
  readonly externalId: string | undefined
}

const REFRESH_MS = 2_000

/**
 * A page made for print: what is registered, what its proof says, and where to verify it. The content comes from a
 * bundle that was verified here, so that everything on the paper is what the txIds commit to.
 */
export function CertificatePage({ evidenceId, externalId }: CertificatePageProps) {
  const session = useContext(SessionContext)
  const content = session && externalId !== undefined ? { session, externalId } : undefined
  const load = (signal: AbortSignal) => readCertificate(evidenceId, content, signal)
  const certificate = useLoad(load, [evidenceId, externalId, session])
  const { loaded, refresh } = certificate
  useEvery(REFRESH_MS, refresh, loaded.state === 'done' && loaded.value === undefined)
  const [code, setCode] = useState<CertificateCode>()
  return (
    <WhenLoaded of={certificate} title={texts.certificate.title}>
      {(proof) =>
        proof === undefined ? (
          <>
            <h1>{texts.certificate.title}</h1>
            <Notice tone="pending">{texts.certificate.pending}</Notice>
          </>
        ) : (
          <article class="certificate">
            <PrintButtons
              source={content && proof.claims && { ...content, claims: proof.claims }}
              code={code}
              onCode={setCode}
            />
            <FirstPage {...proof} evidenceId={evidenceId} code={code} />
            <Hashes {...proof} evidenceId={evidenceId} />
          </article>
        )
      }
    </WhenLoaded>
  )
}

/** Only a time that is not the operator's own makes the seal green. */
const SEALS = { independent: 'proven', own: 'info', none: 'unstamped' } as const satisfies Record<string, SealKind>

interface PageProps extends CertificateProof {
  readonly evidenceId: string
  readonly code?: CertificateCode | undefined
}

/** What hangs on the wall. */
function FirstPage({ event, claims, erased, evidenceId, code }: PageProps) {
  const t = texts.certificate
  const session = useContext(SessionContext)
  // What hangs on the wall is the present state, so the newest event decides what is proven.
  const stated = statedTime(event)
  const by = stated === undefined ? 'none' : stated.isLocalTest ? 'own' : 'independent'
  const scanned = claims ? code?.url : verificationLink(evidenceId)
  const end = code?.expiresAt
  return (
    <section class="column sheet">
      <header class="flex">
        <Mark />
        <b>{session && claims ? session.companyId : texts.product}</b>
        <span class="muted">{t.title}</span>
        <span class="end">{t.issued(formatPrinted(Date.now()))}</span>
      </header>
      {claims ? <CertificateSubject claims={claims} erased={erased} /> : <h1 class="cert-title">{t.title}</h1>}
      <div class={`cert-proof ${by}`}>
        <Seal kind={SEALS[by]} />
        <div>
          <p class="big-proof">{t.proven[by](formatBound(stated?.at ?? 0, formatPrinted))}</p>
          <p>{claims ? t.provenText : t.provenCreation}</p>
          <p>{by === 'none' ? t.unstamped(event.version, event.merkle.leafIndex) : t.statedBy[by](stated?.by ?? '')}</p>
          {code && <p>{t.codeShows}</p>}
        </div>
        {scanned !== undefined && (
          <figure>
            <QrCode text={scanned} label={texts.share.qr} />
            <figcaption>
              {!code ? t.scan : end === undefined ? t.scanState : t.scanUntil(formatPrinted(end))}
            </figcaption>
          </figure>
        )}
      </div>
      {claims && <Registry claims={claims} />}
      {claims && <NewestEvents events={claims.events} />}
      <footer class="muted">{t.asOf(event.merkle.treeSize, code !== undefined)}</footer>
    </section>
  )
}

/** By what a reader recognizes the registry, which is the name before the id of its log. */
const Registry = ({ claims: { origin } }: { readonly claims: BundleClaims }) => (
  <section class="cert-print" aria-label={texts.certificate.registry}>
    <div>
      <b class="wrap">
        {texts.certificate.registry} <bdi>{origin.slice(0, origin.lastIndexOf('/'))}</bdi>
      </b>
      <p>{texts.certificate.compare}</p>
    </div>
    <Fingerprint origin={origin} />
  </section>
)

/** The second page: what the proof consists of, all events, and the files. */
function Hashes({ event, claims, evidenceId }: PageProps) {
  const t = texts.certificate
  const { merkle, stamps, blocks } = event
  const link = verificationLink(evidenceId)
  return (
    <section class="column sheet">
      <header class="flex">
        <Mark />
        <b>{t.fingerprint}</b>
      </header>
      <h2>{t.sealOf(event.version, event.name)}</h2>
      <Facts
        of={[
          [texts.verify.txId, <Hash value={event.txId} />],
          [t.statedTime, formatPrinted(event.recordedAt)],
          ...stamps.map(
            ({ at, by, isLocalTest }) =>
              [
                texts.log.stamp,
                `${isLocalTest ? texts.ownTest.authority : by}: ${formatBound(at, formatPrinted)}`,
              ] as const,
          ),
          ...blocks.flatMap(({ at, by, isLocalTest, blockNumber, txHash }) => [
            [
              texts.log.anchor,
              `${isLocalTest ? texts.ownTest.ledger : by}, ${blockNumber}: ${formatBound(at, formatPrinted)}`,
            ] as const,
            [t.transaction, <Hash value={txHash} />] as const,
          ]),
          [texts.log.root, <Hash value={merkle.merkleRoot} />],
          [texts.verify.position, merkle.leafIndex],
          [texts.log.batch, <Hash value={merkle.batchId} />],
          [t.checkpoint, <pre dir="ltr">{merkle.checkpoint}</pre>],
          [
            t.creationLink,
            <a class="hash" href={link}>
              {link}
            </a>,
          ],
        ]}
      />
      {claims && <CertificateHistory events={claims.events} />}
      {claims && <CertificateFiles events={claims.events} />}
      <h2>{t.notProven}</h2>
      <p>{t.notProvenText}</p>
    </section>
  )
}
