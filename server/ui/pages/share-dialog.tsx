import { closeDialog, Dialog } from '../components/dialog.tsx'
import { QrCode } from '../components/qr-code.tsx'
import { CopyButton } from '../components/values.tsx'
import { hrefOf } from '../router.ts'
import { texts } from '../texts.ts'

/** Where clients reach the service. The server knows it if the operator has set it. */
function publicUrl(): string {
  const given = document.querySelector<HTMLMetaElement>('meta[name="public-url"]')?.content
  return given === undefined ? document.baseURI : `${given}/ui/`
}

/** The address of the public verification page of an evidence. It names only the internal id. */
export const verificationLink = (evidenceId: string): string =>
  new URL(hrefOf(['verify', evidenceId]), publicUrl()).href

/** The public link as a text and as a code to scan. */
export function ShareDialog({ evidenceId }: { readonly evidenceId: string }) {
  const t = texts.share
  const link = verificationLink(evidenceId)
  return (
    <Dialog title={texts.evidence.share}>
      <p>{t.intro}</p>
      <p>
        <a href={link}>{link}</a>
      </p>
      <QrCode text={link} label={t.qr} />
      <p class="row">
        <CopyButton text={link} />
        <button onClick={closeDialog}>{texts.close}</button>
      </p>
    </Dialog>
  )
}
