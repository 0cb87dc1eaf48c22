import { useEffect } from 'preact/hooks'
import type { BundleClaims } from '../../../core/verify/index.ts'
import { Icon } from '../components/icon.tsx'
import { LocalAddress } from '../components/local-address.tsx'
import { Failure, Notice } from '../components/notice.tsx'
import { useForm } from '../components/use-form.ts'
import { lastText } from '../event-changes.ts'
import { publicUrl } from '../public-url.ts'
import { hasLevel, type Session } from '../session.ts'
import * as texts from '../texts/index.ts'
import { makeLink, type MadeLink } from './make-link.ts'
import { placeIn } from './photo-place.ts'

/** The code of a certificate. */
export interface CertificateCode extends MadeLink {
  /** It does not show the photo of the paper. */
  readonly isWithoutPhoto: boolean
}

interface PrintButtonsProps {
  /** Who may make a code, and of what. */
  readonly source: { readonly session: Session; readonly externalId: string; readonly claims: BundleClaims } | undefined
  readonly code: CertificateCode | undefined
  readonly onCode: (code: CertificateCode) => void
}

/** Printing without a code makes nothing; with one it makes one link, which shows name, photo and state. */
export function PrintButtons({ source, code, onCode }: PrintButtonsProps) {
  const t = texts.certificate
  const form = useForm({})
  useEffect(() => {
    if (code !== undefined) print()
  }, [code])
  const isLimited = source !== undefined && !hasLevel(source.session, 'U')
  return (
    <div class="stack no-print">
      {form.error !== undefined && <Failure error={form.error} />}
      {code?.isWithoutPhoto === true && <Notice tone="pending">{t.withoutPhoto}</Notice>}
      {source && <LocalAddress url={code?.url ?? publicUrl()} />}
      <div class="row">
        {source && !code && (
          <button
            class="primary"
            disabled={form.isBusy}
            onClick={() => void form.run(async () => onCode(await makeCode(source)))}
          >
            <Icon name="print" />
            {isLimited ? t.printLimited : t.printCode}
          </button>
        )}
        <button onClick={() => print()}>{source && !code ? t.printPlain : t.print}</button>
      </div>
    </div>
  )
}

/** A photo that says where it was taken, or may, is not shown. Level R makes a link of 30 days, which is its default. */
async function makeCode({ session, externalId, claims }: NonNullable<PrintButtonsProps['source']>) {
  const { client } = session
  const imageId = lastText(claims.events, 'imageId').text
  const { dt } = imageId === undefined ? { dt: [] } : await client.listEvidenceFiles({ externalId })
  const image = dt.find(({ overlayId }) => overlayId === imageId)
  const isShown = image !== undefined && (await placeIn(client, image)) === false
  const request = { externalId, fields: ['name'] as const, files: isShown ? [image.overlayId] : [] }
  const kind = hasLevel(session, 'U') ? { kind: 'certificate' as const } : {}
  const link = await makeLink(client, { ...request, ...kind }, claims.events.length)
  return { ...link, isWithoutPhoto: image !== undefined && !isShown }
}
