import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { Icon } from '../components/icon.tsx'
import { fittingFiles } from '../components/upload.tsx'
import * as texts from '../texts/index.ts'
import { DropArea } from './drop-zone.tsx'
import { ChosenFile } from './file-preview.tsx'

interface FilePickerProps {
  readonly files: readonly File[]
  readonly onChange: (files: readonly File[]) => void
  readonly problem?: ComponentChildren
}

/** Photos by the camera of a phone, files by a dialog or by drag and drop, each with a preview until it is sent. */
export function FilePicker({ files, onChange, problem }: FilePickerProps) {
  const t = texts.files
  const [leftOut, setLeftOut] = useState<string>()
  const add = (more: Iterable<File>): void => {
    const { fitting, problem: why } = fittingFiles(more)
    setLeftOut(why)
    onChange([...files, ...fitting])
  }
  const choose = (event: { readonly currentTarget: HTMLInputElement }): void => {
    add(event.currentTarget.files ?? [])
    event.currentTarget.value = ''
  }
  return (
    <DropArea onFiles={add}>
      <div class="row">
        <label class="button">
          <Icon name="camera" />
          {t.camera}
          <input class="visually-hidden" type="file" accept="image/*" capture="environment" onChange={choose} />
        </label>
        <label class="button">
          {t.choose}
          <input class="visually-hidden" type="file" multiple onChange={choose} />
        </label>
      </div>
      <p class="hint wide-only">{t.drop}</p>
      <p class="problem" role="alert">
        {leftOut ?? problem}
      </p>
      {files.length > 0 && (
        <ul class="grid previews tiny" aria-label={t.chosen}>
          {files.map((file, i) => (
            <li key={`${file.name}/${file.lastModified}/${i}`}>
              <button
                type="button"
                class="square"
                aria-label={`${t.leaveOut}: ${file.name}`}
                onClick={() => onChange(files.filter((each) => each !== file))}
              >
                <Icon name="cross" />
              </button>
              <ChosenFile file={file} />
            </li>
          ))}
        </ul>
      )}
    </DropArea>
  )
}
