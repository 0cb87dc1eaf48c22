import { render } from 'preact'
import type { SavedReport } from './pages/check-yourself.tsx'
import { VerifyPage } from './pages/verify.tsx'
import { verifyDocument } from './pages/verify-document.ts'

/** The verification page without a server: a single file that a user saves. A report also holds what it is about. */
const root = document.querySelector('#app')
const given = document.querySelector('#report')?.textContent
const report: SavedReport | undefined = given ? JSON.parse(given) : undefined
const page = <VerifyPage verify={verifyDocument} report={report} />
// A report is printed on whole sheets.
if (root !== null) render(report ? <div class="sheet">{page}</div> : page, root)
