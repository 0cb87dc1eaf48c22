import { saveFile } from '../format.ts'
import * as texts from '../texts/index.ts'

/** What a report is about. `server/commands/report.ts` writes it into the page. */
export interface SavedReport {
  /** The text of a proof bundle. */
  readonly bundle: string
  /** The text of the policy of the person who made the report. */
  readonly policy: string
}

const TRUSTED_LISTS = 'https://eidas.ec.europa.eu/efda/trust-services/browse/eidas/tls'

/** How to check a report without the page that shows it, and what no verifier checks. */
export function CheckYourself({ bundle }: Pick<SavedReport, 'bundle'>) {
  const t = texts.report
  return (
    <section class="card stack">
      <h2>{t.check}</h2>
      <p>{t.whoMadeIt}</p>
      <ol>
        {t.steps.map((step) => (
          <li key={step}>{step}</li>
        ))}
      </ol>
      <button type="button" class="no-print" onClick={() => saveFile(new Blob([bundle]), 'proof.evidence.json')}>
        {t.saveProof}
      </button>
      <p>
        {t.qualified} <a href={TRUSTED_LISTS}>{TRUSTED_LISTS}</a>
      </p>
    </section>
  )
}
